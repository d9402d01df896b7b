// Which numbers of a routing file are meant: of several lists, of several layers, and of types that
// both counts and experts are saved in. What is not meant does not make a file unreadable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "engine/input/recorded_routing.h"
#include "engine/input/routing_kind.h"
#include "tests/support/npy_text.h"
#include "tests/unit/input/temporary_file.h"

namespace engine {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Numbers = std::vector<std::int64_t>;

RoutingSpec choice_of(const TemporaryFile& file, const std::string& tensor = {}) {
  RoutingSpec spec;
  spec.distribution = RoutingDistribution::File;
  spec.path = file.path();
  spec.tensor = tensor;
  return spec;
}

/// Splits of the first step, or the refusal.
struct Outcome {
  Numbers splits;
  std::string refusal;
};

Outcome outcome_of(const RoutingSpec& spec) {
  const Result<RoutingSteps> recorded = read_recorded_routing(spec, 0);
  if (!recorded.ok()) return {{}, recorded.error().message};
  return {recorded.value().steps.front().splits, {}};
}

Outcome json_outcome(const std::string& text, const std::string& tensor = {}) {
  const TemporaryFile file("choice.json", text);
  return outcome_of(choice_of(file, tensor));
}

TEST(RoutingChoice, AnUnrelatedListDoesNotMakeAGoodOneUnreadable) {
  for (const char* const other : {"[[1, 2], [3]]", "[[[[[[7]]]]]]", "[1, [2]]", "[\"a\"]", "[1.5]",
                                  "[[[1, 2], [3]], [[4]]]"}) {
    const std::string text =
        std::string(R"({"logical_count": [[3, 1]], "output_ids": )") + other + "}";
    EXPECT_THAT(json_outcome(text).splits, ElementsAre(3, 1)) << other;
    EXPECT_THAT(json_outcome(text, "logical_count").splits, ElementsAre(3, 1)) << other;
    const std::string unnamed = std::string(R"({"a": [[3, 1, 1]], "b": )") + other + "}";
    EXPECT_THAT(json_outcome(unnamed).splits, ElementsAre(3, 1, 1)) << other;
    EXPECT_THAT(json_outcome(unnamed, "a").splits, ElementsAre(3, 1, 1)) << other;
    EXPECT_THAT(json_outcome(unnamed, "b").refusal, HasSubstr("'b': ")) << other;
  }
}

TEST(RoutingChoice, AListOfTokensWhoseStepsDifferIsOneOfSeveral) {
  const std::string tokens = "[[[[0, 1], [1, 2]]], [[[0, 2]]]]";  // [steps][layers][tokens][top_k]
  EXPECT_THAT(json_outcome(R"({"rank": 3, "replay": )" + tokens + "}").splits,
              ElementsAre(1, 2, 1));
  const std::string two = R"({"lengths": [2, 1], "replay": )" + tokens + "}";
  EXPECT_THAT(json_outcome(two, "replay").splits, ElementsAre(1, 2, 1));
  EXPECT_THAT(json_outcome(two, "lengths").splits, ElementsAre(2, 1));
  EXPECT_THAT(json_outcome(two).refusal, AllOf(HasSubstr("lengths, replay"), HasSubstr("tensor")));
  const std::string usual = R"({"lengths": [2, 1], "routed_experts": )" + tokens + "}";
  EXPECT_THAT(json_outcome(usual).refusal, HasSubstr("token 0 has 2 layers but token 1 has 1"))
      << "its name says that it is meant";
}

TEST(RoutingChoice, AUsualNameThatCannotBeReadIsNotPassedOver) {
  EXPECT_THAT(json_outcome(R"({"logical_count": [[1, 2], [3]], "lengths": [2, 1]})").refusal,
              AllOf(HasSubstr("'logical_count'"), HasSubstr("differ in length")));
  const TemporaryFile floats(
      "floats.safetensors",
      safetensors_integers({{"logical_count", "F32", "1", {0}, 4}, {"x", "I32", "1", {0}, 4}}));
  EXPECT_THAT(outcome_of(choice_of(floats)).refusal,
              AllOf(HasSubstr("'logical_count'"), HasSubstr("F32")));
}

TEST(RoutingChoice, AFileThatIsNoJsonSaysWhere) {
  EXPECT_THAT(json_outcome("[[1, 2],\n [3, 4]\n").refusal,
              AllOf(HasSubstr("not JSON"), HasSubstr("line 3")));
}

TEST(RoutingChoice, TheUsualNamesChooseAmongSeveral) {
  for (const std::string name : {"logical_count", "tokens_per_expert", "routed_experts"}) {
    const Outcome meant =
        json_outcome("{\"a\": [[9, 9, 9, 9]], \"step.\" : [[8, 8]], \"" + name + "\": [[2, 1]]}");
    EXPECT_EQ(meant.refusal, "") << name;
    EXPECT_EQ(meant.splits.size(), name == "routed_experts" ? 3U : 2U) << name;
  }
  // Two of one name: neither is the one.
  EXPECT_THAT(
      json_outcome(R"({"a.routed_experts": [[0, 1]], "b.routed_experts": [[2, 1]]})").refusal,
      AllOf(HasSubstr("a.routed_experts, b.routed_experts"), HasSubstr("routing.tensor")));
}

/// What a nameless array may be: "counts", or "counts|vllm".
std::string readings(const std::string& descr, const std::string& shape, const Numbers& values,
                     const std::string& file_name = "kind.npy") {
  const TemporaryFile file(file_name, npy_integers(descr, shape, values));
  const auto found = routing_readings(choice_of(file));
  if (!found.ok()) return found.error().message;
  std::string all;
  for (const RoutingReading& one : found.value()) {
    all += (all.empty() ? "" : "|") + std::string(name_of(one.numbers));
  }
  return all;
}

TEST(RoutingChoice, WhereValuesLeaveOneReadingNothingIsAsked) {
  Numbers wide(static_cast<std::size_t>(100 * 128));
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<std::int64_t>(i % 128);
  EXPECT_EQ(readings("<i2", "100, 128", wide), "counts") << "no token has 128 experts";
  EXPECT_EQ(readings("|u1", "100, 128", wide), "counts");
  EXPECT_EQ(readings("<i2", "2, 4", {3, 3, 0, 2, 5, 1, 1, 1}), "counts") << "an expert twice";
  EXPECT_EQ(readings("<i2", "2, 2", {64, 64, 64, 64}), "counts") << "every expert the same rows";
  EXPECT_EQ(readings("<i2", "2, 2, 3", {3, 3, 0, 2, 5, 1, 1, 1, 1, 2, 0, 0}), "counts");
  EXPECT_EQ(readings("<i4", "2, 2", {2000, 1, 2, 3}), "counts") << "no such expert";
  EXPECT_EQ(readings("<i4", "2, 2", {0, -1, 1, 2}), "vllm") << "padding";
  EXPECT_EQ(readings("<i8", "3", {1, 2, 3}), "counts");
  EXPECT_EQ(readings("<i8", "1, 1, 1, 2", {1, 0}), "vllm") << "both orders are the same";
}

TEST(RoutingChoice, WhereSeveralReadingsFitNoneIsGuessed) {
  EXPECT_EQ(readings("<i4", "2, 2", {1, 7, 2, 6}), "counts|vllm");
  EXPECT_EQ(readings("<i2", "2, 2", {1, 7, 2, 6}), "counts|vllm") << "a type proves nothing";
  EXPECT_EQ(readings("<i4", "3, 2", {0, 5, 7, 2, 1, 6}), "counts|vllm");
  EXPECT_EQ(readings("<i2", "2, 2, 2", {3, 3, 0, 2, 1, 2, 5, 5}), "counts|vllm|megatron");
  EXPECT_EQ(readings("<i2", "1, 2, 2, 2", {0, 1, 0, 2, 1, 2, 3, 5}), "vllm|megatron");
  Numbers ids;
  for (std::int64_t i = 0; i < std::int64_t{4} * 768; ++i) ids.insert(ids.end(), {i % 7, 7});
  EXPECT_EQ(readings("<i8", "4, 768, 2", ids), "counts|vllm|megatron");
  ids[1] = -1;
  const TemporaryFile file("kind.npy", npy_integers("<i8", "4, 768, 2", ids));
  const std::string refusal = outcome_of(choice_of(file)).refusal;
  EXPECT_THAT(refusal, HasSubstr("int64 [4, 768, 2] can be read as vllm (4 tokens, 768 layers, 2 "
                                 "experts of each token) or as megatron (4 layers, 768 tokens, 2 "
                                 "experts of each token): choose the one that is meant"));
  RoutingSpec chosen = choice_of(file);
  chosen.numbers = RoutingNumbers::Megatron;
  EXPECT_EQ(inspect_routing(chosen).value().layers, 4);
  chosen.numbers = RoutingNumbers::Vllm;
  EXPECT_EQ(inspect_routing(chosen).value().layers, 768);
}

TEST(RoutingChoice, TheNameOfAFileSpeaksForAnArrayThatHasNone) {
  const Numbers values = {3, 1, 0, 2, 1, 2, 0, 3};
  EXPECT_EQ(readings("<i2", "2, 2, 2", values, "routed_experts.npy"), "vllm");
  EXPECT_EQ(readings("<i2", "2, 2, 2", values, "Megatron.npy"), "megatron");
  EXPECT_EQ(readings("<i2", "2, 2, 2", values, "logical_count.npy"), "counts");
  EXPECT_EQ(readings("<i2", "2, 2, 2", values, "layer_3.npy"), "counts|vllm|megatron");
}

TEST(RoutingChoice, NoRowAtAllIsRefusedAsSuch) {
  const TemporaryFile zeros("zeros.npy", npy_integers("<i4", "2, 3", {0, 0, 0, 0, 0, 0}));
  EXPECT_THAT(outcome_of(choice_of(zeros)).refusal,
              AllOf(HasSubstr("all rows per expert of layer 0 are 0"),
                    testing::Not(HasSubstr("another layer"))));
  EXPECT_THAT(json_outcome("[0, 0]").refusal, HasSubstr("are 0, so that no expert has a row"));
  const TemporaryFile first("first_counts.json", "[[0, 0], [2, 1]]");
  RoutingSpec spec = choice_of(first);
  EXPECT_EQ(outcome_of(spec).refusal, "") << "one of two steps has rows";
  spec.steps = 1;
  EXPECT_THAT(outcome_of(spec).refusal,
              AllOf(HasSubstr("the 1 chosen steps"), HasSubstr("routing.first_step")));
  const TemporaryFile dropped("vllm.npy", npy_integers("<i2", "2, 2", {-1, -2, -2, -1}));
  EXPECT_THAT(outcome_of(choice_of(dropped)).refusal,
              HasSubstr("all choices of layer 0 are dropped"));
}

TEST(RoutingChoice, LayersOfDifferentLengthsAreRefusedAsSuch) {
  EXPECT_THAT(json_outcome("[[[0, 1], [1, 2]], [[2, 0]]]").refusal,
              HasSubstr("step 0 has 2 tokens in layer 0 but 1 in layer 1; every token passes"));
  EXPECT_THAT(json_outcome("[[[[0, 1]], [[1, 2]]], [[[0, 1]], [[2, 0], [1, 0]]]]").refusal,
              HasSubstr("step 1 has 1 tokens in layer 0 but 2 in layer 1"));
  const TemporaryFile layers("layers.safetensors",
                             safetensors_integers({{"layer.4", "I64", "2, 2", {0, 1, 1, 2}, 8},
                                                   {"layer.5", "I64", "1, 2", {2, 0}, 8}}));
  EXPECT_THAT(outcome_of(choice_of(layers)).refusal,
              HasSubstr("step 0 has 2 tokens in layer 4 but 1 in layer 5"));
  const TemporaryFile widths("widths.safetensors",
                             safetensors_integers({{"step.0.layer.0", "I64", "1, 2", {0, 1}, 8},
                                                   {"step.1.layer.0", "I64", "1, 1", {0}, 8}}));
  EXPECT_THAT(outcome_of(choice_of(widths)).refusal,
              HasSubstr("tokens of layer 0 choose 2 experts each, but 1 in step 1"));
}

TEST(RoutingChoice, ANameSaysWhichDimensionIsUneven) {
  const std::string lists = "[[[3, 1], [1, 2]], [[2, 5]]]";
  const std::string counts = json_outcome("{\"logical_count\": " + lists + "}").refusal;
  EXPECT_THAT(counts, HasSubstr("step 0 has 2 layers but step 1 has 1"));
  EXPECT_THAT(counts, testing::Not(HasSubstr("tokens in layer")));
  EXPECT_THAT(json_outcome("{\"routed_experts\": " + lists + "}").refusal,
              HasSubstr("token 0 has 2 layers but token 1 has 1"));
  const TemporaryFile named("counts.json", lists);
  EXPECT_THAT(outcome_of(choice_of(named)).refusal, HasSubstr("step 0 has 2 layers"));
  RoutingSpec chosen = choice_of(named);
  chosen.numbers = RoutingNumbers::Megatron;
  EXPECT_THAT(outcome_of(chosen).refusal, HasSubstr("step 0 has 2 tokens in layer 0 but 1"));
}

TEST(RoutingChoice, ListsAreAskedAboutAsArraysAre) {
  const auto asked = [](const std::string& text, const std::string& name) {
    const TemporaryFile file(name, text);
    const auto found = routing_readings(choice_of(file));
    return found.ok() ? found.value().size() : 0;
  };
  EXPECT_EQ(asked("[[1, 7], [2, 6]]", "kind.json"), 2U);
  EXPECT_EQ(asked("[[1, 7], [2, 6]]", "splits.json"), 1U) << "its name says it";
  EXPECT_EQ(asked("[[64, 64], [2, 6]]", "kind.json"), 2U);
  EXPECT_EQ(asked("[[2048, 0], [2, 6]]", "kind.json"), 1U) << "no such expert";
  EXPECT_EQ(asked("[128, 0, 256]", "kind.json"), 1U) << "a list of splits";
  EXPECT_THAT(json_outcome("[[1, 7], [2, 6]]").refusal,
              HasSubstr("can be read as counts (2 steps, 2 experts"));
}

TEST(RoutingChoice, OneRemedySufficesForEveryExpert) {
  const TemporaryFile file("ids.npy", npy_integers("<i4", "3, 2", {0, 4, 7, 1, 2, 3}));
  RoutingSpec spec = choice_of(file);
  spec.numbers = RoutingNumbers::Vllm;
  const auto refused = read_recorded_routing(spec, 4);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("token 0"), HasSubstr("chose expert 4"), HasSubstr("at least 8")));
}

TEST(RoutingChoice, FortransOrderIsRefusedForThatReason) {
  std::string text = npy_integers("<i8", "2, 2", {1, 0, 0, 1});
  const std::size_t order = text.find("'fortran_order': False");
  ASSERT_NE(order, std::string::npos);
  text.replace(order, 22, "'fortran_order': True ");
  const TemporaryFile file("fortran.npy", text);
  EXPECT_THAT(outcome_of(choice_of(file)).refusal,
              AllOf(HasSubstr("Fortran"), HasSubstr("ascontiguousarray"),
                    testing::Not(HasSubstr("is not uint8"))));
}

TEST(RoutingChoice, MoreExpertsOfATokenThanAnyRouterChoosesAreRefused) {
  Numbers ids(65);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
  const TemporaryFile file("wide.npy", npy_integers("<i2", "1, 65", ids));
  RoutingSpec spec = choice_of(file);
  for (const RoutingNumbers numbers : {RoutingNumbers::Vllm, RoutingNumbers::Megatron}) {
    spec.numbers = numbers;
    EXPECT_THAT(outcome_of(spec).refusal, AllOf(HasSubstr("65 experts"), HasSubstr("1 to 64"),
                                                HasSubstr("routing.numbers to counts")));
  }
  const TemporaryFile layers("layers.safetensors",
                             safetensors_integers({{"layer.0", "I16", "1, 65", ids, 2},
                                                   {"layer.1", "I16", "1, 65", ids, 2}}));
  EXPECT_THAT(outcome_of(choice_of(layers)).refusal,
              AllOf(HasSubstr("65 experts"), HasSubstr("'layer.0'")));
}

TEST(RoutingChoice, LayersAreCountedFromZeroAndTheirNumbersAreNamed) {
  const TemporaryFile file("layers.safetensors",
                           safetensors_integers({{"layers.3", "I64", "1, 2", {0, 1}, 8},
                                                 {"layers.7", "I64", "1, 2", {2, 0}, 8}}));
  RoutingSpec spec = choice_of(file);
  spec.layer = 1;
  EXPECT_THAT(outcome_of(spec).splits, ElementsAre(1, 0, 1));
  EXPECT_THAT(inspect_routing(spec).value().source, HasSubstr("layer 7"));
  spec.layer = 7;
  EXPECT_THAT(outcome_of(spec).refusal,
              AllOf(HasSubstr("routing.layer is 7"), HasSubstr("2 layers"), HasSubstr("0 to 1"),
                    HasSubstr("3, 7"), HasSubstr("for 7 choose 1")));
  spec.layer = 4;
  EXPECT_THAT(outcome_of(spec).refusal, testing::Not(HasSubstr("for 4")));
}

TEST(RoutingChoice, TwoTensorsOfOneLayerAreRefused) {
  const auto refusal = [](const std::string& a, const std::string& b) {
    const TemporaryFile file("twins.safetensors",
                             safetensors_integers({{a, "I64", "1, 2", {0, 1}, 8},
                                                   {b, "I64", "1, 2", {2, 0}, 8},
                                                   {"layer_2", "I64", "1, 2", {2, 0}, 8}}));
    return outcome_of(choice_of(file)).refusal;
  };
  EXPECT_THAT(refusal("layer_1", "layer_01"),
              AllOf(HasSubstr("'layer_1'"), HasSubstr("'layer_01'")));
  EXPECT_THAT(refusal("layer_99999999999999999998", "layer_99999999999999999999"),
              HasSubstr("'layer_99999999999999999998'"));
}

TEST(RoutingChoice, ATensorPerLayerIsNotReadAsCounts) {
  const TemporaryFile file("layers.safetensors",
                           safetensors_integers({{"layer.0", "I64", "1, 2", {0, 1}, 8},
                                                 {"layer.1", "I64", "1, 2", {2, 0}, 8}}));
  RoutingSpec spec = choice_of(file);
  spec.numbers = RoutingNumbers::Counts;
  EXPECT_THAT(outcome_of(spec).refusal,
              AllOf(HasSubstr("routing.numbers"), HasSubstr("routing.tensor")));
}

/// Shapes that hold nothing but claim much. Each was a loop without end, or an overflow.
TEST(RoutingChoice, EmptyTablesWithHugeDimensionsAreRefused) {
  for (const char* const shape :
       {"4611686018427387904, 0", "4611686018427387904, 27, 0", "0, 4611686018427387904, 4",
        "0, 3, 4611686018427387904", "4611686018427387904, 0, 4", "3, 0, 4611686018427387904",
        "0, 1000000000000, 1000000000000, 2", "65536, 1000000000000, 0, 8"}) {
    for (const auto& [value, name] : kType<RoutingNumbers>.names) {
      const TemporaryFile file("huge.npy", npy_integers("<i2", shape, {}));
      RoutingSpec spec = choice_of(file);
      spec.numbers = static_cast<RoutingNumbers>(value);
      EXPECT_NE(outcome_of(spec).refusal, "") << shape << ", " << name;
      const TemporaryFile named("huge.safetensors",
                                safetensors_integers({{"routed_experts", "I16", shape, {}, 2}}));
      spec.path = named.path();
      EXPECT_NE(outcome_of(spec).refusal, "") << shape << ", " << name;
    }
  }
  const TemporaryFile file("wide.npy", npy_integers("<i2", "4611686018427387904, 0", {}));
  RoutingSpec spec = choice_of(file);
  spec.numbers = RoutingNumbers::Vllm;
  EXPECT_THAT(outcome_of(spec).refusal,
              AllOf(HasSubstr("[4611686018427387904, 0]"), HasSubstr("67108864")));
  const TemporaryFile none("none.npy", npy_integers("<i2", "9, 0", {}));
  spec.path = none.path();
  EXPECT_THAT(outcome_of(spec).refusal, AllOf(HasSubstr("0 experts"), HasSubstr("1 to 64")));
}

TEST(RoutingChoice, AFileWithoutLayersSaysSo) {
  const TemporaryFile file("none.npy", npy_integers("<i2", "3, 0, 2", {}));
  EXPECT_THAT(outcome_of(choice_of(file)).refusal, HasSubstr("holds no layer"));
}

TEST(RoutingChoice, AReadingThatIsCancelledEnds) {
  const TemporaryFile file("counts.npy", npy_integers("<i4", "2, 3", {4, 4, 0, 1, 7, 0}));
  std::atomic<bool> cancel = true;
  const auto facts = inspect_routing(choice_of(file), &cancel);
  ASSERT_FALSE(facts.ok());
  EXPECT_EQ(facts.error().code, ErrorCode::Cancelled);
  cancel = false;
  EXPECT_TRUE(inspect_routing(choice_of(file), &cancel).ok());
}

}  // namespace
}  // namespace engine
