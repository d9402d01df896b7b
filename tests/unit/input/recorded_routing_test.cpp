// Recordings of routing: every shape that serving and training programs write, what is taken for
// what, and a sentence with value, limit and remedy for what does not fit.
#include "engine/input/recorded_routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/input/routing.h"
#include "engine/input/token_routing.h"
#include "tests/support/npy_text.h"
#include "tests/unit/input/temporary_file.h"

namespace engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Splits = std::vector<std::int64_t>;

RoutingSpec spec_of(const TemporaryFile& file) {
  RoutingSpec spec;
  spec.distribution = RoutingDistribution::File;
  spec.path = file.path();
  return spec;
}

std::vector<Splits> splits_of(const RoutingSpec& spec, int experts = 0) {
  const Result<RoutingSteps> read = read_recorded_routing(spec, experts);
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
  std::vector<Splits> all;
  if (!read.ok()) return all;
  for (const RecordedStep& step : read.value().steps) all.push_back(step.splits);
  return all;
}

std::string refusal(const RoutingSpec& spec, int experts = 0) {
  const Result<RoutingSteps> read = read_recorded_routing(spec, experts);
  return read.ok() ? "" : read.error().message;
}

std::string source_of(const RoutingSpec& spec) {
  const Result<RoutingFacts> facts = inspect_routing(spec);
  return facts.ok() ? facts.value().source : facts.error().message;
}

/// vLLM's [4 tokens, 2 layers, 2 experts of a token]; the last token was cached and is padding.
const TemporaryFile& vllm() {
  static const TemporaryFile file(
      "vllm.npy",
      npy_integers("<i2", "4, 2, 2", {0, 1, 2, 3, 1, 2, 3, 0, 0, 3, 1, 2, 1, -1, -1, -1}));
  return file;
}

TEST(RecordedRouting, CountsVllmsExpertsByLayer) {
  RoutingSpec spec = spec_of(vllm());
  EXPECT_EQ(source_of(spec), "vLLM routed_experts, int16 [4, 2, 2]");
  EXPECT_THAT(splits_of(spec, 4), ElementsAre(Splits{2, 3, 1, 1}));
  spec.layer = 1;
  EXPECT_THAT(splits_of(spec, 4), ElementsAre(Splits{1, 1, 2, 2}));
  const auto facts = inspect_routing(spec).value();
  EXPECT_EQ(facts.experts, 4);
  EXPECT_EQ(facts.layers, 2);
  EXPECT_EQ(facts.file_steps, 1);
  EXPECT_EQ(facts.dropped, 2);
  EXPECT_EQ(facts.largest_step, 6);
}

TEST(RecordedRouting, ConsecutiveTokensFormSteps) {
  RoutingSpec spec = spec_of(vllm());
  spec.tokens_per_step = 2;
  EXPECT_THAT(splits_of(spec, 4), ElementsAre(Splits{1, 2, 1, 0}, Splits{1, 1, 0, 1}));
  spec.tokens_per_step = 3;  // the last step is shorter
  EXPECT_THAT(splits_of(spec, 4), ElementsAre(Splits{2, 2, 1, 1}, Splits{0, 1, 0, 0}));
  spec.tokens_per_step = 1;
  spec.first_step = 3;
  spec.steps = 2;  // the first follows the last
  EXPECT_THAT(splits_of(spec, 4), ElementsAre(Splits{0, 1, 0, 0}, Splits{1, 1, 0, 0}));
  const auto recorded = read_recorded_routing(spec, 4).value();
  EXPECT_EQ(recorded.steps[0].step, 3);
  EXPECT_EQ(recorded.steps[0].dropped, 1);
  EXPECT_EQ(recorded.steps[0].rows, 1);
  EXPECT_EQ(recorded.steps[1].step, 0);
  EXPECT_DOUBLE_EQ(recorded.steps[1].imbalance, 2.0);
}

TEST(RecordedRouting, SequencesOfABatchAreSteps) {
  const TemporaryFile file("vllm_batch.npy",
                           npy_integers("<i4", "2, 2, 1, 2", {0, 1, 1, 2, 2, 0, 2, 1}));
  EXPECT_THAT(splits_of(spec_of(file)), ElementsAre(Splits{1, 2, 1}, Splits{1, 1, 2}));
  RoutingSpec each = spec_of(file);
  each.tokens_per_step = 1;
  EXPECT_EQ(splits_of(each).size(), 4U);
}

TEST(RecordedRouting, ReadsSglangsCountsByStepAndLayer) {
  Splits values;
  for (int step = 0; step < 3; ++step) {
    for (int layer = 0; layer < 2; ++layer) {
      for (int expert = 0; expert < 4; ++expert) values.push_back(100 * step + 10 * layer + expert);
    }
  }
  const TemporaryFile npy("counts.npy", npy_integers("<i4", "3, 2, 4", values));
  RoutingSpec spec = spec_of(npy);
  spec.layer = 1;
  // Neither the values nor the type say what they are: no two experts have as many rows.
  spec.numbers = RoutingNumbers::Counts;
  EXPECT_THAT(splits_of(spec, 4), ElementsAre(Splits{10, 11, 12, 13}, Splits{110, 111, 112, 113},
                                              Splits{210, 211, 212, 213}));
  const TemporaryFile named("counts.safetensors",
                            safetensors_integers({{"logical_count", "I32", "3, 2, 4", values, 4},
                                                  {"rank", "I32", "1", {0}, 4}}));
  EXPECT_EQ(source_of(spec_of(named)), "SGLang logical_count 'logical_count', int32 [3, 2, 4]");
  EXPECT_THAT(
      splits_of(spec_of(named), 4),
      ElementsAre(Splits{0, 1, 2, 3}, Splits{100, 101, 102, 103}, Splits{200, 201, 202, 203}));
  const TemporaryFile json("counts.json",
                           R"({"rank": 0, "names": ["a"], "logical_count": [[[3, 1]], [[0, 4]]]})");
  EXPECT_THAT(splits_of(spec_of(json)), ElementsAre(Splits{3, 1}, Splits{0, 4}));
}

TEST(RecordedRouting, ReadsMegatronsTensorPerLayerAndStep) {
  const TemporaryFile file(
      "megatron.safetensors",
      safetensors_integers({{"step_0.layers.3.topk", "I64", "2, 2", {0, 1, 1, 2}, 8},
                            {"step_0.layers.7.topk", "I64", "2, 2", {2, 0, 2, 1}, 8},
                            {"step_1.layers.3.topk", "I64", "1, 2", {0, 2}, 8},
                            {"step_1.layers.7.topk", "I64", "1, 2", {1, 0}, 8}}));
  RoutingSpec spec = spec_of(file);
  EXPECT_EQ(source_of(spec), "Megatron RouterReplay 'step_{}.layers.{}.topk', 4 tensors, layer 3");
  EXPECT_THAT(splits_of(spec, 3), ElementsAre(Splits{1, 2, 1}, Splits{1, 0, 1}));
  spec.layer = 1;
  EXPECT_THAT(splits_of(spec, 3), ElementsAre(Splits{1, 1, 2}, Splits{1, 1, 0}));
  spec.layer = 2;
  EXPECT_THAT(refusal(spec, 3),
              HasSubstr("routing.layer is 2, but the file has 2 layers; choose 0"));
}

TEST(RecordedRouting, ReadsMegatronsListsWhoseLengthsDiffer) {
  // [steps][layers][tokens][top_k]: two tokens in the first step, one in the second.
  const TemporaryFile file("megatron.json",
                           "[[[[0, 1], [1, 2]], [[2, 0], [2, 1]]], "
                           "[[[0, 2]], [[1, 0]]]]");
  RoutingSpec spec = spec_of(file);
  spec.layer = 1;
  EXPECT_THAT(splits_of(spec), ElementsAre(Splits{1, 1, 2}, Splits{1, 1, 0}));
  EXPECT_THAT(source_of(spec), HasSubstr("Megatron RouterReplay"));
  const TemporaryFile square("square.json", "[[[[0, 1]], [[2, 0]]], [[[0, 2]], [[1, 0]]]]");
  RoutingSpec by_layer = spec_of(square);
  by_layer.numbers = RoutingNumbers::Megatron;
  EXPECT_THAT(splits_of(by_layer), ElementsAre(Splits{1, 1, 0}, Splits{1, 0, 1}));
  RoutingSpec by_token = spec_of(square);
  by_token.numbers = RoutingNumbers::Vllm;  // [sequences, tokens, layers, top_k]
  EXPECT_THAT(splits_of(by_token), ElementsAre(Splits{2, 1, 1}, Splits{2, 1, 1}));
}

TEST(RecordedRouting, ListsOfListsAreStepsByExperts) {
  const TemporaryFile file("splits.json", "[[5, 0, 3], [1, 1, 6]]");
  EXPECT_THAT(splits_of(spec_of(file), 3), ElementsAre(Splits{5, 0, 3}, Splits{1, 1, 6}));
  EXPECT_EQ(source_of(spec_of(file)), "rows per expert, by step, integers [2, 3]");
}

TEST(RecordedRouting, PlaceholdersAreDroppedAndALayerOfThemIsRefused) {
  // Layer 0 has no experts: vLLM writes zeros.
  const TemporaryFile file("vllm_dense.npy",
                           npy_integers("<i2", "3, 2, 2", {0, 0, 1, 2, 0, 0, 2, 0, 0, 0, 0, 0}));
  EXPECT_THAT(refusal(spec_of(file)), HasSubstr("set routing.layer to 1"));
  RoutingSpec spec = spec_of(file);
  spec.layer = 1;
  const auto recorded = read_recorded_routing(spec, 3).value();
  EXPECT_THAT(recorded.steps.front().splits, ElementsAre(1, 1, 2));
  EXPECT_EQ(recorded.dropped(), 2);
}

RunRequest request_of(const RoutingSpec& spec, int experts, std::int64_t tokens) {
  RunRequest request;
  request.routing = spec;
  request.shape.num_experts = experts;
  request.shape.rows = tokens;
  return request;
}

TEST(RecordedRouting, EveryStepNeedsItsRowsAndOneStepAllOfThem) {
  const TemporaryFile file("splits.json", "[[5, 0, 3], [1, 2, 6]]");
  const auto resolve = [&](std::int64_t tokens) {
    return resolve_routing(request_of(spec_of(file), 3, tokens));
  };
  const auto routing = resolve(9);
  ASSERT_TRUE(routing.ok());
  EXPECT_THAT(routing.value().shape.splits, ElementsAre(5, 0, 3));
  EXPECT_THAT(routing.value().splits_of_steps(), ElementsAre(Splits{5, 0, 3}, Splits{1, 2, 6}));
  EXPECT_DOUBLE_EQ(mean_rows(routing.value().shape.splits, routing.value().recorded, 3),
                   (8.0 + 9.0 + 8.0) / 3.0);
  EXPECT_TRUE(resolve(64).ok());
  EXPECT_THAT(resolve(8).error().message,
              testing::AllOf(HasSubstr("step 1 has 9 rows"), HasSubstr("the shape has 8,"),
                             HasSubstr("set the rows to 9")));
  RunRequest aligned = request_of(spec_of(file), 3, 9);
  aligned.routing.alignment = 2;
  EXPECT_THAT(resolve_routing(aligned).error().message,
              HasSubstr("the split of expert 0 is 5 in step 0, not a multiple of the alignment 2"));
  const TemporaryFile one("one_split.json", "[[5, 0, 3]]");
  EXPECT_THAT(resolve_routing(request_of(spec_of(one), 3, 9)).error().message,
              HasSubstr("sum to 8 but the shape has 9 rows"));
}

TEST(RecordedRouting, AStepTakesItsSizesFromTheFile) {
  const TemporaryFile file("splits.json", "[[5, 0, 3], [1, 2, 6]]");
  RunRequest request;
  request.shape.preset = "named";
  request.launch.iterations = 1;
  request.routing = spec_of(file);
  const RunRequest fitted = fitted_to_routing(request, inspect_routing(request.routing).value());
  EXPECT_EQ(fitted.shape.num_experts, 3);
  EXPECT_EQ(fitted.shape.rows, 9);
  EXPECT_EQ(fitted.shape.preset, "");
  EXPECT_EQ(fitted.launch.iterations, 2) << "every step once";
  EXPECT_TRUE(resolve_routing(fitted).ok());
}

TEST(RecordedRouting, ALayerOfTokensHasRoomForDroppedChoices) {
  const TemporaryFile file("ids.json", "[[0, 1], [-1, -1], [-1, -1]]");
  RunRequest request;
  request.step = StepKind::ExpertLayer;
  request.expert_layer.top_k = 2;
  request.products.weight_reuse = 3;
  request.routing = spec_of(file);
  request.routing.numbers = RoutingNumbers::Vllm;
  const RunRequest fitted = fitted_to_routing(request, inspect_routing(request.routing).value());
  EXPECT_EQ(fitted.shape.rows, 6) << "three tokens with two choices each";
  EXPECT_TRUE(resolve_routing(fitted).ok());
  EXPECT_TRUE(resolve_token_routing(fitted).ok());
  RunRequest narrow = fitted;
  narrow.shape.rows = 4;
  EXPECT_THAT(resolve_routing(narrow).error().message, HasSubstr("set the rows to 6"));
}

TEST(RecordedRouting, IterationsAreWholeCyclesOfTheSteps) {
  const auto iterations = [](int asked, std::size_t steps, int in_flight = 1) {
    LaunchMode launch;
    launch.iterations = asked;
    launch.in_flight = in_flight;
    return whole_cycles(launch, steps);
  };
  EXPECT_EQ(iterations(10, 4), 12);
  EXPECT_EQ(iterations(12, 4), 12);
  EXPECT_EQ(iterations(10, 1), 10);
  EXPECT_EQ(iterations(3, 4), 3) << "does not reach every step";
  EXPECT_EQ(iterations(3, 4, 2), 4) << "two steps in each";
  EXPECT_EQ(iterations(5, 4, 4), 5) << "all steps in each";
  EXPECT_EQ(iterations(kMaxIterations, 3), kMaxIterations - 1) << "rounded down at the limit";
}

TEST(RecordedRouting, RecordedChoicesHaveALimit) {
  std::string steps = "[0, 1]";
  for (int i = 1; i < 40; ++i) steps += ", [0, 1]";
  const TemporaryFile file("ids.json", "[" + steps + "]");
  RunRequest request = request_of(spec_of(file), 2, kMaxDimension / 2 * 2);
  request.step = StepKind::ExpertLayer;
  request.expert_layer.top_k = 2;
  request.routing.numbers = RoutingNumbers::Vllm;
  request.routing.tokens_per_step = 1;
  const auto refused = resolve_token_routing(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("40 steps with room for"));
  EXPECT_THAT(refused.error().message, HasSubstr("routing.steps to at most 16"));
}

TEST(RecordedRouting, AStepWithoutTokensHasRoomForNoChoices) {
  const TemporaryFile file("ids.json", "[[0, 1], [1, 0]]");
  RunRequest request = request_of(spec_of(file), 2, 0);
  request.step = StepKind::ExpertLayer;
  request.expert_layer.top_k = 2;
  request.routing.numbers = RoutingNumbers::Vllm;
  const auto refused = resolve_token_routing(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("step 0 needs 4 rows but the shape has 0,"));

  const TemporaryFile zeros("counts.json", "[0, 0]");
  request.routing = spec_of(zeros);
  request.routing.numbers = RoutingNumbers::Counts;
  const auto none = resolve_token_routing(request);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("no expert has a row"));
}

struct BadRecording {
  const char* name;
  const char* extension;
  std::string contents;
  void (*change)(RoutingSpec&);
  std::vector<std::string> words;
};

void nothing(RoutingSpec&) {}
void counts(RoutingSpec& spec) { spec.numbers = RoutingNumbers::Counts; }

class RecordingRefusal : public testing::TestWithParam<BadRecording> {};

TEST_P(RecordingRefusal, NamesValueLimitAndRemedy) {
  const TemporaryFile file(std::string("bad") + GetParam().extension, GetParam().contents);
  RoutingSpec spec = spec_of(file);
  GetParam().change(spec);
  const std::string message = refusal(spec, 3);
  for (const std::string& word : GetParam().words) EXPECT_THAT(message, HasSubstr(word));
}

INSTANTIATE_TEST_SUITE_P(
    Files, RecordingRefusal,
    testing::Values(
        BadRecording{"IdBeyondTheExperts",
                     ".npy",
                     npy_integers("<i2", "2, 2", {0, 1, 2, 3}),
                     [](auto& s) { s.numbers = RoutingNumbers::Vllm; },
                     {"token 1", "expert 3", "3 experts", "at least 4"}},
        BadRecording{"MoreColumns",
                     ".json",
                     "[[1, 2], [3, 4]]",
                     counts,
                     {"2 splits", "3 experts", "set the experts to 2"}},
        BadRecording{"NegativeCount",
                     ".json",
                     "[[1, 2, 3], [4, -5, 6]]",
                     counts,
                     {"expert 1 is -5 in step 1", "0 and 16777216"}},
        BadRecording{"TooManyRows",
                     ".json",
                     "[[16777216, 1, 0]]",
                     nothing,
                     {"step 0 has 16777217 rows", "16777216"}},
        BadRecording{"FirstStep",
                     ".json",
                     "[[1, 2, 2]]",
                     [](auto& s) { s.first_step = 1; },
                     {"routing.first_step is 1", "1 step", "0 to 0"}},
        BadRecording{"Steps",
                     ".json",
                     "[[1, 2, 2]]",
                     [](auto& s) { s.steps = 2; },
                     {"routing.steps is 2", "the file has 1"}},
        BadRecording{"TokensOfCounts",
                     ".json",
                     "[[1, 2, 2]]",
                     [](auto& s) { s.tokens_per_step = 4; },
                     {"tokens_per_step is 4", "set it to 0"}},
        BadRecording{"TooManySteps",
                     ".npy",
                     npy_integers("<i2", "5000, 1", std::vector<std::int64_t>(5000, 1)),
                     [](auto& s) { s.tokens_per_step = 1; },
                     {"5000 steps", "at most 4096", "tokens_per_step to more"}},
        BadRecording{"NoSuchTensor",
                     ".safetensors",
                     safetensors_integers({{"a", "I16", "1, 2", {0, 1}, 2}}),
                     [](auto& s) { s.tensor = "b"; },
                     {"named 'b'", "'a'"}},
        BadRecording{"SeveralTensors",
                     ".safetensors",
                     safetensors_integers({{"a", "I16", "1, 2", {0, 1}, 2},
                                           {"b", "I16", "1, 2", {0, 1}, 2}}),
                     nothing,
                     {"2 tensors", "a, b", "routing.tensor"}},
        BadRecording{"MissingLayer",
                     ".safetensors",
                     safetensors_integers({{"step0.layer0", "I16", "1, 2", {0, 1}, 2},
                                           {"step0.layer1", "I16", "1, 2", {0, 1}, 2},
                                           {"step1.layer1", "I16", "1, 2", {0, 1}, 2}}),
                     nothing,
                     {"step 1 has no layer 0"}},
        BadRecording{"Floats",
                     ".safetensors",
                     safetensors_integers({{"x", "F32", "1", {0}, 4}}),
                     nothing,
                     {"'x'", "F32", "int64"}},
        BadRecording{"FiveDimensions",
                     ".npy",
                     npy_integers("<i2", "1, 1, 1, 1, 2", {0, 1}),
                     nothing,
                     {"[1, 1, 1, 1, 2]", "top_k"}},
        BadRecording{"NoTokens", ".npy", npy_integers("<i2", "0, 2, 2", {}), nothing, {"no step"}},
        BadRecording{"NoExperts", ".json", "[[]]", nothing, {"0 splits"}},
        BadRecording{
            "RaggedExperts", ".json", "[[1, 2, 3], [4, 5]]", nothing, {"differ in length"}},
        BadRecording{"RaggedTopK",
                     ".json",
                     "[[[0, 1], [1]], [[0, 1]]]",
                     nothing,
                     {"every token must choose equally many"}},
        BadRecording{"Mixed", ".json", "[[1, 2, 3], [[4], 5, 6]]", nothing, {"a list"}},
        BadRecording{"MixedLater", ".json", "[[1], [[2]]]", nothing, {"a list", "numbers"}},
        BadRecording{"TooDeep", ".json", "[[[[[1]]]]]", nothing, {"4 deep"}},
        BadRecording{"ObjectOfTexts", ".json", R"({"a": ["x"]})", nothing, {"integer"}},
        BadRecording{"ManyRowsOfNothing",
                     ".npy",
                     npy_integers("<i2", "4611686018427387904, 0", {}),
                     [](auto& s) { s.numbers = RoutingNumbers::Vllm; },
                     {"4611686018427387904", "67108864"}},
        BadRecording{"WiderThanAnyRouterChooses",
                     ".npy",
                     npy_integers("<i2", "1, 65", std::vector<std::int64_t>(65, 1)),
                     [](auto& s) { s.numbers = RoutingNumbers::Vllm; },
                     {"65 experts", "1 to 64", "routing.numbers to counts"}},
        BadRecording{"SecondRaggedMember",
                     ".json",
                     R"({"logical_count": [[3, 1]], "output_ids": [[1, 2], [3]]})",
                     [](auto& s) { s.tensor = "output_ids"; },
                     {"'output_ids'", "differ in length"}},
        BadRecording{"CollidingNumbers",
                     ".safetensors",
                     safetensors_integers({{"layer_1", "I16", "1, 2", {0, 1}, 2},
                                           {"layer_01", "I16", "1, 2", {0, 1}, 2},
                                           {"layer_2", "I16", "1, 2", {0, 1}, 2}}),
                     nothing,
                     {"'layer_1'", "'layer_01'", "rename one"}},
        BadRecording{"Counts16",
                     ".npy",
                     npy_integers("<i2", "2, 3", {900, 2, 3, 1, 5, 3}),
                     [](auto& s) { s.numbers = RoutingNumbers::Vllm; },
                     {"expert 900", "routing.numbers to counts"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace engine
