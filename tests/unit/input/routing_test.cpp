// Routing: for every distribution the splits sum to the tokens, keep the alignment, and follow
// their shares; files are checked with both numbers in the refusal.
#include "engine/input/routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "tests/unit/input/temporary_file.h"

namespace engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RunRequest request_for(RoutingDistribution distribution, int experts, std::int64_t tokens,
                       std::int64_t alignment = 1) {
  RunRequest request;
  request.shape.num_experts = experts;
  request.shape.rows = tokens;
  request.routing = {.distribution = distribution, .path = "", .alignment = alignment};
  return request;
}

std::vector<std::int64_t> splits_of(const RunRequest& request) {
  const Result<GroupedShape> shape = resolve_shape(request);
  EXPECT_TRUE(shape.ok());
  return shape.ok() ? shape.value().splits : std::vector<std::int64_t>{};
}

class RoutingProperty
    : public testing::TestWithParam<std::tuple<RoutingDistribution, int, std::int64_t>> {};

TEST_P(RoutingProperty, SumsExactlyAndKeepsTheAlignment) {
  const auto [distribution, experts, alignment] = GetParam();
  for (const std::int64_t tokens : {0, 1, 17, 127, 128, 4096, 98304, 16777216}) {
    const RunRequest request = request_for(distribution, experts, tokens, alignment);
    const std::vector<std::int64_t> splits = splits_of(request);
    ASSERT_EQ(splits.size(), static_cast<std::size_t>(experts));
    EXPECT_EQ(std::accumulate(splits.begin(), splits.end(), std::int64_t{0}), tokens);
    EXPECT_GE(*std::min_element(splits.begin(), splits.end()), 0);
    std::size_t last = splits.size();
    while (last > 0 && splits[last - 1] == 0) --last;
    for (std::size_t e = 0; e + 1 < last; ++e) {
      EXPECT_EQ(splits[e] % alignment, 0) << "expert " << e << " of " << tokens;
    }
    EXPECT_EQ(splits, splits_of(request)) << "not deterministic";
    if (distribution == RoutingDistribution::HalfEmpty) {
      for (std::size_t e = 1; e < splits.size(); e += 2) EXPECT_EQ(splits[e], 0);
    }
    if (distribution == RoutingDistribution::OneHot) {
      EXPECT_EQ(splits[0], tokens);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, RoutingProperty,
    testing::Combine(testing::Values(RoutingDistribution::Uniform, RoutingDistribution::Mild,
                                     RoutingDistribution::Zipf, RoutingDistribution::Heavy,
                                     RoutingDistribution::OneHot, RoutingDistribution::HalfEmpty),
                     testing::Values(1, 2, 8, 65, 256, 1024), testing::Values(1, 16, 128)));

/// An iteration replays as many recorded steps as it has micro-batches in flight.
TEST(Routing, ErrorsAreMeasuredOfEveryStepThatWasReplayed) {
  RecordedRouting recorded;
  recorded.steps.resize(12);
  const MeasureOptions measure{.recorded_steps = 16};
  EXPECT_EQ(steps_to_measure(measure, recorded, 3).steps, 3);
  EXPECT_EQ(steps_to_measure(measure, recorded, 3, 3).steps, 9);
  EXPECT_EQ(
      steps_to_measure(measure, recorded, 3, 3).words,
      "measured for the first 9 of 12 steps; 3 iterations of 3 micro-batches reached no more");
  EXPECT_EQ(steps_to_measure(measure, recorded, 4, 3).words, "measured for all 12 steps");
  EXPECT_EQ(steps_to_measure({.recorded_steps = 2}, recorded, 4, 3).steps, 2);
}

TEST(Routing, UniformSplitsDifferByAtMostOne) {
  const std::vector<std::int64_t> splits =
      splits_of(request_for(RoutingDistribution::Uniform, 65, 10007));
  const auto [low, high] = std::minmax_element(splits.begin(), splits.end());
  EXPECT_LE(*high - *low, 1);
}

TEST(Routing, SharesFollowTheirDistribution) {
  constexpr double kTokens = 1 << 22;
  for (const auto& [distribution, exponent] :
       {std::pair{RoutingDistribution::Zipf, 0.7}, std::pair{RoutingDistribution::Heavy, 1.5}}) {
    const std::vector<std::int64_t> splits = splits_of(request_for(distribution, 256, 1 << 22));
    double total = 0.0;
    for (int e = 0; e < 256; ++e) total += std::pow(e + 1, -exponent);
    for (int e = 0; e < 256; ++e) {
      EXPECT_NEAR(static_cast<double>(splits[static_cast<std::size_t>(e)]),
                  kTokens * std::pow(e + 1, -exponent) / total, 1.0);
    }
  }
}

TEST(Routing, MildStaysWithinTwentyPercentAndFollowsTheSeed) {
  RunRequest request = request_for(RoutingDistribution::Mild, 64, 1 << 20);
  const std::vector<std::int64_t> splits = splits_of(request);
  const auto [low, high] = std::minmax_element(splits.begin(), splits.end());
  EXPECT_LE(static_cast<double>(*high) / static_cast<double>(*low), 1.2 / 0.8 + 0.001);
  EXPECT_GT(*high - *low, 1000);
  request.seed = 2;
  EXPECT_NE(splits_of(request), splits);
}

TEST(Routing, TokensBelowTheAlignmentGoToTheLargestShare) {
  EXPECT_THAT(splits_of(request_for(RoutingDistribution::Zipf, 4, 100, 128)),
              ElementsAre(100, 0, 0, 0));
  EXPECT_THAT(splits_of(request_for(RoutingDistribution::Uniform, 2, 300, 128)),
              ElementsAre(128, 172));
}

RunRequest request_from(const TemporaryFile& file, int experts, std::int64_t tokens) {
  RunRequest request = request_for(RoutingDistribution::File, experts, tokens);
  request.routing.path = file.path();
  return request;
}

std::string npy_splits(const std::string& descr, const std::vector<std::int64_t>& values) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" +
                       std::to_string(values.size()) + ",), }\n";
  std::string bytes = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0';
  bytes += header;
  for (const std::int64_t value : values) {
    bytes.append(reinterpret_cast<const char*>(&value), descr == "<i4" ? 4 : 8);
  }
  return bytes;
}

TEST(RoutingFile, ReadsJsonAndNpy) {
  const TemporaryFile json("s.json", " [128, 0,\n 256]\n");
  EXPECT_THAT(splits_of(request_from(json, 3, 384)), ElementsAre(128, 0, 256));
  for (const char* descr : {"<i4", "<i8"}) {
    const TemporaryFile npy("s.npy", npy_splits(descr, {7, 0, 9}));
    EXPECT_THAT(splits_of(request_from(npy, 3, 16)), ElementsAre(7, 0, 9)) << descr;
  }
}

struct BadSplits {
  const char* name;
  const char* extension;
  std::string contents;
  std::int64_t alignment;
  std::vector<std::string> words;
};

class RoutingFileRefusal : public testing::TestWithParam<BadSplits> {};

TEST_P(RoutingFileRefusal, NamesBothNumbers) {
  const TemporaryFile file(std::string("bad") + GetParam().extension, GetParam().contents);
  RunRequest request = request_from(file, 2, 100);
  request.routing.alignment = GetParam().alignment;
  const Result<GroupedShape> shape = resolve_shape(request);
  ASSERT_FALSE(shape.ok());
  for (const std::string& word : GetParam().words) {
    EXPECT_THAT(shape.error().message, HasSubstr(word));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Files, RoutingFileRefusal,
    testing::Values(BadSplits{"WrongLength", ".json", "[50, 25, 25]", 1, {"3 splits", "2 experts"}},
                    BadSplits{"WrongSum", ".json", "[50, 51]", 1, {"sum to 101", "100 rows"}},
                    BadSplits{"Negative", ".json", "[-1, 101]", 1, {"expert 0 is -1", "16777216"}},
                    BadSplits{"TooLarge", ".json", "[99999999999, 1]", 1, {"99999999999"}},
                    BadSplits{"BeyondInt64", ".json", "[18446744073709551615, 1]", 1, {"entry 0"}},
                    BadSplits{"Fraction", ".json", "[50.5, 49.5]", 1, {"entry 0", "integer"}},
                    BadSplits{"NotAList", ".json", "{\"a\": 1}", 1, {"JSON list"}},
                    BadSplits{"Nested", ".json", "[[50], [5000]]", 1, {"1 splits", "2 experts"}},
                    BadSplits{
                        "DeepNesting", ".json", std::string(200000, '['), 1, {"deeper than 64"}},
                    BadSplits{"Misaligned", ".json", "[50, 50]", 16, {"expert 0 is 50", "16"}},
                    BadSplits{"WrongType", ".npy", npy_splits("<f4", {1}), 1, {"'<f4'", "int64"}},
                    BadSplits{"NotNpy", ".npy", "[50, 50]", 1, {"not a .npy"}},
                    BadSplits{"Extension", ".txt", "50 50", 1, {".json or .npy"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace engine
