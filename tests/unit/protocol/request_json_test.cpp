// Requests as JSON: missing fields, wrong fields and values beyond the limits.
#include "app/protocol/request_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace app {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  const engine::Result<engine::RunRequest> request = request_from_json(text);
  return request.ok() ? "accepted" : request.error().message;
}

TEST(RequestJson, RoundTrip) {
  engine::RunRequest request;
  request.shape = {.preset = "Mixtral", .num_experts = 3, .tokens = 7, .n = 32, .k = 48};
  request.routing = {
      .distribution = engine::RoutingDistribution::Zipf, .path = "", .alignment = 16};
  request.activations = engine::FileInput{.path = "x.safetensors", .tensor = "a.b"};
  request.weights = engine::SyntheticInput{.distribution = engine::Distribution::HeavyTailed,
                                           .element = engine::ElementType::Fp32};
  request.recipe = {.scaling = engine::Scaling::PerTensorCurrent,
                    .activation_format = engine::Fp8Format::E5m2,
                    .pow2_scales = false,
                    .amax_epsilon = 1e-7F,
                    .split_accumulator = false};
  request.backend = engine::GemmBackend::CublasLtGrouped;
  request.workspace = engine::WorkspaceStrategy::Shared;
  request.launch = {.kind = engine::LaunchKind::GraphReplay, .iterations = 100};
  request.layers = 4;
  request.seed = 0xFFFFFFFFFFFFFFFFU;
  request.cublaslt_library = "/x/libcublasLt.so";
  for (const bool pretty : {false, true}) {
    const engine::Result<engine::RunRequest> again =
        request_from_json(request_to_json(request, pretty));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again.value(), request);
  }
}

TEST(RequestJson, ADefaultRequestStatesEveryField) {
  const auto json = nlohmann::json::parse(request_to_json(engine::RunRequest()));
  EXPECT_EQ(json["recipe"]["pow2_scales"], true);
  EXPECT_EQ(json["recipe"]["amax_epsilon"], 0.0);
  EXPECT_EQ(json["recipe"]["scaling"], "FP8_BLOCK");
  EXPECT_EQ(json["activations"]["synthetic"]["distribution"], "NORMAL");
  EXPECT_EQ(json["layers"], 1);
}

TEST(RequestJson, AbsentFieldsKeepTheDefaults) {
  const engine::Result<engine::RunRequest> request =
      request_from_json(R"({"recipe": {"scaling": "SCALING_BF16"}, "shape": {"tokens": 64}})");
  ASSERT_TRUE(request.ok()) << request.error().message;
  engine::RunRequest expected;
  expected.recipe.scaling = engine::Scaling::None;
  expected.shape.tokens = 64;
  EXPECT_EQ(request.value(), expected);
}

TEST(RequestJson, AZeroIsNotAnAbsentField) {
  const engine::Result<engine::RunRequest> request =
      request_from_json(R"({"recipe": {"pow2_scales": false}, "shape": {"tokens": 0}, "seed": 0})");
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_FALSE(request.value().recipe.pow2_scales);
  EXPECT_EQ(request.value().shape.tokens, 0);
  EXPECT_EQ(request.value().seed, 0U);
}

TEST(RequestJson, UnknownNamesAreReported) {
  EXPECT_THAT(refusal(R"({"shape": {"tokns": 5}})"), HasSubstr("tokns"));
  EXPECT_THAT(refusal(R"({"colour": 5})"), HasSubstr("colour"));
  EXPECT_THAT(refusal(R"({"recipe": {"scaling": "MXFP99"}})"), HasSubstr("MXFP99"));
  EXPECT_THAT(refusal(R"({"recipe": {"scaling": 9}})"), HasSubstr("recipe.scaling is 9"));
  EXPECT_THAT(refusal(R"({"layers": "many"})"), HasSubstr("many"));
}

TEST(RequestJson, BrokenTextIsRefused) {
  EXPECT_NE(refusal("{"), "accepted");
  EXPECT_NE(refusal(""), "accepted");
  EXPECT_NE(refusal("[1, 2]"), "accepted");
  EXPECT_NE(refusal(std::string(100000, '[')), "accepted");
}

TEST(RequestJson, LimitsApply) {
  EXPECT_THAT(refusal(R"({"shape": {"num_experts": 5000}})"), HasSubstr("5000"));
  EXPECT_THAT(refusal(R"({"shape": {"k": 100}})"), HasSubstr("multiple of 16"));
  EXPECT_THAT(refusal(R"({"recipe": {"amax_epsilon": "NaN"}})"), HasSubstr("amax_epsilon"));
  EXPECT_THAT(refusal(R"({"activations": {"file": {}}})"), HasSubstr("activations"));
}

TEST(RequestJson, ResultsStateZeros) {
  engine::RunResult result;
  result.id = 12;
  const auto json = nlohmann::json::parse(result_to_json(result));
  EXPECT_EQ(json["id"], "12");  // 64-bit integers are strings in Protobuf's JSON
  EXPECT_EQ(json["activations"]["saturated"], "0");
  EXPECT_EQ(json["flop"], 0.0);
}

TEST(RequestJson, TheCodecUsesTheSameFormat) {
  const engine::RunRequest request;
  EXPECT_EQ(request_codec().to_json(request), request_to_json(request));
  EXPECT_TRUE(request_codec().from_json(request_to_json(request)).ok());
}

}  // namespace
}  // namespace app
