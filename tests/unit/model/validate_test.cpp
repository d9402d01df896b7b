// Every value beyond a limit of a request is refused with the value, the limit and the remedy;
// values at the limits pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "engine/model/recipe_comparison.h"
#include "engine/model/recipe_traits.h"
#include "engine/model/run_request.h"

namespace engine {
namespace {

using testing::HasSubstr;

TEST(Validate, AcceptsTheDefaultsAndTheLimitsThemselves) {
  EXPECT_TRUE(validate(RunRequest{}).ok());
  RunRequest low;
  low.shape = {.preset = "", .num_experts = 1, .rows = 0, .n = 16, .k = 16};
  low.launch.iterations = 1;
  EXPECT_TRUE(validate(low).ok());
  RunRequest high;
  high.shape = {.preset = "",
                .num_experts = kMaxExperts,
                .rows = kMaxDimension,
                .n = kMaxDimension,
                .k = kMaxDimension};
  high.layers = kMaxLayers;
  high.launch.iterations = kMaxIterations;
  high.routing.alignment = 4096;
  high.recipe.amax_epsilon = std::numeric_limits<float>::max();
  EXPECT_TRUE(validate(high).ok());
}

struct Refusal {
  const char* name;
  std::function<void(RunRequest&)> spoil;
  std::vector<std::string> words;
};

class ValidateRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(ValidateRefusal, NamesValueAndLimit) {
  RunRequest request;
  GetParam().spoil(request);
  const Status status = validate(request);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument);
  for (const std::string& word : GetParam().words) {
    EXPECT_THAT(status.error().message, HasSubstr(word));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fields, ValidateRefusal,
    testing::Values(
        Refusal{
            "NoExperts", [](auto& r) { r.shape.num_experts = 0; }, {"num_experts", "0", "1024"}},
        Refusal{"TooManyExperts", [](auto& r) { r.shape.num_experts = 1025; }, {"1025", "1024"}},
        Refusal{"NegativeRows", [](auto& r) { r.shape.rows = -1; }, {"rows", "-1"}},
        Refusal{"TooManyTokens",
                [](auto& r) { r.shape.rows = kMaxDimension + 1; },
                {"rows", "16777217", "16777216"}},
        Refusal{"OddN", [](auto& r) { r.shape.n = 100; }, {"n is 100", "multiple of 16", "112"}},
        Refusal{"OddK", [](auto& r) { r.shape.k = 2881; }, {"k is 2881", "2896"}},
        Refusal{"ZeroK", [](auto& r) { r.shape.k = 0; }, {"k is 0"}},
        Refusal{"NoLayer", [](auto& r) { r.layers = 0; }, {"layers", "0", "8"}},
        Refusal{"TooManyLayers", [](auto& r) { r.layers = 9; }, {"layers", "9", "8"}},
        Refusal{"NoIteration", [](auto& r) { r.launch.iterations = 0; }, {"iterations", "0"}},
        Refusal{"TooManyIterations",
                [](auto& r) { r.launch.iterations = 100001; },
                {"100001", "100000"}},
        Refusal{"NoAlignment", [](auto& r) { r.routing.alignment = 0; }, {"alignment", "0"}},
        Refusal{"NegativeLayer", [](auto& r) { r.routing.layer = -1; }, {"layer", "-1", "4095"}},
        Refusal{"TooManySteps", [](auto& r) { r.routing.steps = 4097; }, {"4097", "4096"}},
        Refusal{"NegativeFirstStep", [](auto& r) { r.routing.first_step = -1; }, {"first_step"}},
        Refusal{"NegativeStepTokens",
                [](auto& r) { r.routing.tokens_per_step = -1; },
                {"tokens_per_step", "-1"}},
        Refusal{"TooManyMeasuredSteps",
                [](auto& r) { r.measure.recorded_steps = 4097; },
                {"recorded_steps", "4097", "4096"}},
        Refusal{"RoutingTensorOfAnotherEncoding",
                [](auto& r) {
                  r.routing.distribution = RoutingDistribution::File;
                  r.routing.path = "r.npy";
                  r.routing.tensor = "\xFF";
                },
                {"routing.tensor is '\\xff'"}},
        Refusal{"NegativeEpsilon",
                [](auto& r) { r.recipe.amax_epsilon = -1.0F; },
                {"amax_epsilon", "-1"}},
        Refusal{"EpsilonNaN",
                [](auto& r) { r.recipe.amax_epsilon = std::numeric_limits<float>::quiet_NaN(); },
                {"amax_epsilon", "nan"}},
        Refusal{"EpsilonInfinite",
                [](auto& r) { r.recipe.amax_epsilon = std::numeric_limits<float>::infinity(); },
                {"amax_epsilon", "inf"}},
        Refusal{"NoHistory",
                [](auto& r) { r.recipe.delayed.history_length = 0; },
                {"history_length", "0", "4096"}},
        Refusal{"HistoryTooLong",
                [](auto& r) { r.recipe.delayed.history_length = 4097; },
                {"history_length", "4097", "4096"}},
        Refusal{"MarginTooLarge",
                [](auto& r) { r.recipe.delayed.margin = -33; },
                {"margin", "-33", "32"}},
        Refusal{"InputWithoutPath",
                [](auto& r) { r.activations = FileInput{}; },
                {"activations", "no file is named"}},
        Refusal{"WeightsWithoutPath",
                [](auto& r) { r.weights = FileInput{.path = "", .tensor = "w"}; },
                {"weights", "no file is named"}},
        Refusal{"InputOfAnotherEncoding",
                [](auto& r) { r.activations = FileInput{.path = "caf\xE9.npy", .tensor = ""}; },
                {"activations", "path is 'caf\\xe9.npy'", "UTF-8", "rename"}},
        Refusal{"TensorOfAnotherEncoding",
                [](auto& r) { r.weights = FileInput{.path = "w.npy", .tensor = "\xFF"}; },
                {"weights", "tensor is '\\xff'"}},
        Refusal{"RoutingOfAnotherEncoding",
                [](auto& r) {
                  r.routing.distribution = RoutingDistribution::File;
                  r.routing.path = "\xE9.json";
                },
                {"routing.path is '\\xe9.json'"}},
        Refusal{"LibraryOfAnotherEncoding",
                [](auto& r) { r.cublaslt_library = "/opt/\xE9/libcublasLt.so"; },
                {"cublaslt_library is '/opt/\\xe9/libcublasLt.so'"}},
        Refusal{"RoutingWithoutPath",
                [](auto& r) { r.routing.distribution = RoutingDistribution::File; },
                {"routing.path is empty"}}),
    [](const auto& test) { return test.param.name; });

TEST(DefaultComparison, HasBothKindsOfScaleWhereARecipeCanHaveBoth) {
  const std::vector<Recipe> recipes = default_comparison({.activation_format = Fp8Format::E5m2});
  for (const auto& [value, name] : kType<Scaling>.names) {
    const auto scaling = static_cast<Scaling>(value);
    const RecipeTraits& traits = traits_of(scaling);
    for (const bool pow2 : {false, true}) {
      const auto count = std::ranges::count_if(recipes, [&](const Recipe& recipe) {
        return recipe.scaling == scaling && recipe.pow2_scales == pow2;
      });
      const bool possible = traits.quantizes() && traits.pow2_scales(pow2) == pow2;
      EXPECT_EQ(count, possible ? 1 : 0) << name << pow2;
    }
  }
  for (const Recipe& recipe : recipes) EXPECT_EQ(recipe.activation_format, Fp8Format::E5m2);
}

TEST(ValidateComparison, ChecksRequestRecipesAndSample) {
  EXPECT_TRUE(validate(ComparisonRequest()).ok());
  ComparisonRequest request;
  request.recipes = default_comparison();
  EXPECT_TRUE(validate(request).ok());
  request.recipes[1].delayed.history_length = 0;
  EXPECT_FALSE(validate(request).ok());
  EXPECT_FALSE(validate(ComparisonRequest{.request = {}, .sample_row = -1}).ok());
  EXPECT_FALSE(validate(ComparisonRequest{.request = {}, .sample_column = -1}).ok());
  EXPECT_FALSE(validate(ComparisonRequest{.request = {}, .timed_launches = 1001}).ok());
  request = {};
  request.recipes.resize(33);
  EXPECT_FALSE(validate(request).ok());
  request = {};
  request.request.shape.k = 17;
  EXPECT_FALSE(validate(request).ok());
}

}  // namespace
}  // namespace engine
