// Values as JSON: names and numbers as people write them, absent fields, wrong fields and values
// beyond the limits.
#include "engine/input/value_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "engine/model/leaves.h"
#include "engine/model/recipe_comparison.h"
#include "engine/model/run_request.h"
#include "engine/model/run_result.h"
#include "engine/model/values.h"

namespace engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  const Result<RunRequest> request = request_from_json(text);
  return request.ok() ? "accepted" : request.error().message;
}

RunRequest read(const std::string& text, const RunRequest& base = {}) {
  const Result<RunRequest> request = request_from_json(text, base);
  EXPECT_TRUE(request.ok()) << request.error().message;
  return request.ok() ? request.value() : RunRequest{};
}

RunRequest unusual_request() {
  RunRequest request;
  request.shape = {.preset = "Mixtral", .num_experts = 3, .rows = 7, .n = 32, .k = 48};
  request.routing = {.distribution = RoutingDistribution::Zipf, .path = "", .alignment = 16};
  request.activations = FileInput{.path = "x.safetensors", .tensor = "a.b"};
  request.weights =
      SyntheticInput{.distribution = Distribution::HeavyTailed, .element = ElementType::Fp32};
  request.recipe = {.scaling = Scaling::PerTensorCurrent,
                    .activation_format = Fp8Format::E5m2,
                    .pow2_scales = false,
                    .amax_epsilon = 1e-7F,
                    .split_accumulator = false};
  request.backend = GemmBackend::CublasLtGrouped;
  request.workspace = WorkspaceStrategy::Shared;
  request.launch = {.kind = LaunchKind::GraphReplay, .iterations = 100};
  request.layers = 4;
  request.seed = std::numeric_limits<std::uint64_t>::max();
  request.cublaslt_library = "/x/libcublasLt.so";
  return request;
}

TEST(RequestJson, ComesBackAsItWas) {
  for (const bool indented : {false, true}) {
    EXPECT_EQ(read(to_json_text(unusual_request(), indented)), unusual_request());
  }
}

TEST(RequestJson, SaysValuesAsTheCommandLineDoes) {
  const auto json = nlohmann::json::parse(to_json_text(unusual_request()));
  EXPECT_EQ(json["recipe"]["scaling"], "fp8-per-tensor");
  EXPECT_EQ(json["recipe"]["activation_format"], "e5m2");
  EXPECT_EQ(json["recipe"]["amax_epsilon"], 1e-7);  // not the float's 1.0000000116860974e-07
  EXPECT_EQ(json["routing"]["distribution"], "zipf");
  EXPECT_EQ(json["weights"]["synthetic"]["distribution"], "heavy-tailed");
  EXPECT_EQ(json["launch"]["kind"], "graph-replay");
  EXPECT_EQ(json["seed"], std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(json["shape"]["rows"].is_number_integer());
  for (const Leaf& leaf : leaves_of(kType<RunRequest>)) {
    if (leaf.type.kind != Kind::Enum) continue;
    for (const EnumName& name : leaf.type.names) {
      RunRequest request;
      ASSERT_TRUE(set_leaf(kType<RunRequest>, &request, leaf.path, name.name)) << leaf.path;
      EXPECT_THAT(to_json_text(request), HasSubstr("\"" + std::string(name.name) + "\""));
    }
  }
}

TEST(RequestJson, ADefaultRequestStatesEveryField) {
  const auto json = nlohmann::json::parse(to_json_text(RunRequest()));
  EXPECT_EQ(json["recipe"]["pow2_scales"], true);
  EXPECT_EQ(json["recipe"]["amax_epsilon"], 0.0);
  EXPECT_EQ(json["recipe"]["scaling"], "fp8-block");
  EXPECT_EQ(json["activations"]["synthetic"]["distribution"], "normal");
  EXPECT_EQ(json["layers"], 1);
}

TEST(RequestJson, AbsentFieldsKeepTheDefaults) {
  RunRequest expected;
  expected.recipe.scaling = Scaling::None;
  expected.shape.rows = 64;
  EXPECT_EQ(read(R"({"recipe": {"scaling": "bf16"}, "shape": {"tokens": 64}})"), expected);
}

TEST(RequestJson, APartChangesOnlyWhatItNames) {
  RunRequest expected = unusual_request();
  expected.recipe.pow2_scales = true;
  expected.seed = 3;
  EXPECT_EQ(read(R"({"recipe": {"pow2_scales": true}, "seed": 3})", unusual_request()), expected);
}

TEST(RequestJson, APartReplacesAFileBySyntheticValuesAndBack) {
  RunRequest from_file;
  from_file.activations = FileInput{.path = "/a/x.npy", .tensor = {}};
  const RunRequest synthetic =
      read(R"({"activations": {"synthetic": {"distribution": "uniform"}}})", from_file);
  EXPECT_EQ(synthetic.activations, InputSpec(SyntheticInput{Distribution::Uniform}));
  const RunRequest again = read(R"({"activations": {"file": {"path": "/a/x.npy"}}})", synthetic);
  EXPECT_EQ(again.activations, from_file.activations);
}

TEST(RequestJson, AZeroIsNotAnAbsentField) {
  const RunRequest request =
      read(R"({"recipe": {"pow2_scales": false}, "shape": {"tokens": 0}, "seed": 0})");
  EXPECT_FALSE(request.recipe.pow2_scales);
  EXPECT_EQ(request.shape.rows, 0);
  EXPECT_EQ(request.seed, 0U);
}

TEST(RequestJson, NumbersMayBeWrittenInAnyUsualWay) {
  EXPECT_EQ(read(R"({"shape": {"tokens": 1e3}})").shape.rows, 1000);
  EXPECT_EQ(read(R"({"shape": {"tokens": "1000"}})").shape.rows, 1000);  // as earlier versions
  EXPECT_EQ(read(R"({"recipe": {"amax_epsilon": 1}})").recipe.amax_epsilon, 1.0F);
  EXPECT_EQ(read(R"({"recipe": {"pow2_scales": "off"}})").recipe.pow2_scales, false);
}

TEST(RequestJson, UnknownNamesAreReportedWithTheNearest) {
  EXPECT_THAT(refusal(R"({"shape": {"rowz": 5}})"),
              AllOf(HasSubstr("shape has no field 'rowz' (did you mean 'rows'?)"),
                    HasSubstr("num_experts, rows, n, k")));
  EXPECT_THAT(refusal(R"({"colour": 5})"), HasSubstr("the document has no field 'colour'; "));
  EXPECT_THAT(refusal(R"({"recipe": {"scaling": "mxfp9"}})"),
              HasSubstr("recipe.scaling is \"mxfp9\" (did you mean 'mxfp8'?); it must be bf16, "));
  EXPECT_THAT(refusal(R"({"activations": {"fil": {}}})"),
              HasSubstr("activations has no 'fil' (did you mean 'file'?)"));
}

TEST(RequestJson, WrongValuesAreReportedWithTheirPath) {
  EXPECT_THAT(refusal(R"({"recipe": {"scaling": 9}})"), HasSubstr("recipe.scaling is 9; it must"));
  EXPECT_THAT(refusal(R"({"layers": "many"})"),
              HasSubstr("layers is \"many\"; it must be an integer, between 1 and 8"));
  EXPECT_THAT(refusal(R"({"shape": {"tokens": 1.5}})"), HasSubstr("shape.rows is 1.5"));
  EXPECT_THAT(refusal(R"({"shape": {"tokens": 1e300}})"), HasSubstr("shape.rows is 1e+300"));
  EXPECT_THAT(refusal(R"({"seed": -1})"),
              HasSubstr("seed is -1; it must be an integer, between 0 and 18446744073709551615"));
  EXPECT_THAT(refusal(R"({"seed": true})"), HasSubstr("seed is true"));
  EXPECT_THAT(refusal(R"({"seed": null})"), HasSubstr("seed is null"));
  EXPECT_THAT(refusal(R"({"recipe": {"amax_epsilon": 1e39}})"), HasSubstr("amax_epsilon is 1e+39"));
  EXPECT_THAT(refusal(R"({"recipe": {"pow2_scales": 1}})"), HasSubstr("must be true or false"));
  EXPECT_THAT(refusal(R"({"recipe": []})"), HasSubstr("recipe is []; it must be an object"));
  EXPECT_THAT(refusal(R"({"routing": "zipf"})"),
              HasSubstr("routing is \"zipf\"; it must be an object with any of distribution, "));
  EXPECT_THAT(refusal(R"({"activations": {"file": {"path": "a"}, "synthetic": {}}})"),
              HasSubstr("it must be an object with one of synthetic, file"));
}

TEST(RequestJson, BrokenTextIsRefused) {
  EXPECT_THAT(refusal("{"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal(""), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("[1, 2]"), HasSubstr("must be an object"));
  EXPECT_THAT(refusal(std::string(100000, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(refusal(R"({"cublaslt_library": ")" + std::string(5000, 'x') + "\"}"),
              HasSubstr("the limit is 4095"));
}

TEST(RequestJson, LimitsApply) {
  EXPECT_THAT(refusal(R"({"shape": {"num_experts": 5000}})"), HasSubstr("5000"));
  EXPECT_THAT(refusal(R"({"shape": {"k": 100}})"), HasSubstr("multiple of 16"));
  EXPECT_THAT(refusal(R"({"recipe": {"amax_epsilon": "NaN"}})"), HasSubstr("amax_epsilon"));
  EXPECT_THAT(refusal(R"({"activations": {"file": {}}})"), HasSubstr("activations"));
}

struct Parts {
  std::vector<std::int64_t> counts;
  std::array<double, 2> ends{};
  std::optional<ShapeSpec> shape;
  float ratio = 0;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{field<&Parts::counts>({.most = 3}), field<&Parts::ends>(),
                      field<&Parts::shape>(), field<&Parts::ratio>()};
  }
};

TEST(ValueJson, ListsOptionalsAndNumbersThatJsonLacks) {
  Parts parts{.counts = {1, -2}, .ends = {-INFINITY, NAN}, .shape = {}, .ratio = 0.1F};
  EXPECT_EQ(to_json_text(parts), R"({"counts":[1,-2],"ends":["-inf","nan"],"ratio":0.1})");
  parts.shape = ShapeSpec{};
  Parts again{.counts = {7, 8, 9}, .ends = {}, .shape = {}, .ratio = 0};
  ASSERT_TRUE(read_json(again, to_json_text(parts)).ok());
  EXPECT_TRUE(equal_fields(again, parts));
}

TEST(ValueJson, ListsHaveLimits) {
  Parts parts;
  const Status many = read_json(parts, R"({"counts": [1, 2, 3, 4]})");
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.error().message, "counts has 4 entries; it must have at most 3");
  const Status one = read_json(parts, R"({"ends": [1]})");
  ASSERT_FALSE(one.ok());
  EXPECT_EQ(one.error().message, "ends has 1 entries; it must have 2");
  const Status element = read_json(parts, R"({"counts": [1, "x"]})");
  ASSERT_FALSE(element.ok());
  EXPECT_THAT(element.error().message, HasSubstr("counts[1] is \"x\"; it must be an integer"));
}

TEST(ValueJson, ResultsStateZerosAsNumbers) {
  RunResult result;
  result.id = 12;
  tensor_row(result, StepTensor::X).quantization.emplace();
  const auto json = nlohmann::json::parse(to_json_text(result));
  EXPECT_EQ(json["id"], 12);
  EXPECT_EQ(json["tensors"][0]["quantization"]["saturated"], 0);
  EXPECT_EQ(json["flop"], 0.0);
}

TEST(RequestJson, NamesFromBeforeARenamingAreRead) {
  const RunRequest read_back = read(R"({"shape": {"tokens": 64}, "linear": {"micro_batches": 3}})");
  EXPECT_EQ(read_back.shape.rows, 64);
  EXPECT_EQ(read_back.products.weight_reuse, 3);
  const nlohmann::ordered_json written = to_json(read_back);
  EXPECT_TRUE(written["shape"].contains("rows"));
  EXPECT_FALSE(written["shape"].contains("tokens"));
}

}  // namespace
}  // namespace engine
