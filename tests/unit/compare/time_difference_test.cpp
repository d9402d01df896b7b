// Intervals and verdicts against numbers worked out by hand or by enumeration.
#include "profiling/compare/time_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace {

using profiling::median_interval;
using profiling::rank_sum_p;
using profiling::time_difference;
using profiling::TimeDifference;
using profiling::TimeSamples;
using profiling::TimeVerdict;
using testing::HasSubstr;

std::vector<double> counted(std::size_t n, double first = 1.0) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// Normal around `mean`, one in a hundred of it wide.
std::vector<double> noise(std::size_t n, double mean, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(mean, mean / 100.0);
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(normal(random));
  return values;
}

TEST(MedianInterval, RanksFollowTheBinomialTail) {
  // 2 P(Bin(10, 1/2) <= 1) = 22/1024 <= 0.05 < 2 P(<= 2) = 112/1024: the 2nd and the 9th.
  const profiling::Interval ten = median_interval(counted(10), 0.95);
  EXPECT_EQ(ten.low, 2.0);
  EXPECT_EQ(ten.high, 9.0);
  // The textbook's table: n = 100 at 95 % gives the 40th and the 61st.
  const profiling::Interval hundred = median_interval(counted(100), 0.95);
  EXPECT_EQ(hundred.low, 40.0);
  EXPECT_EQ(hundred.high, 61.0);
  const profiling::Interval many = median_interval(counted(100000), 0.95);
  EXPECT_NEAR(many.low, 50000.0 - 1.96 * 0.5 * std::sqrt(100000.0), 2.0);
  EXPECT_EQ(many.low + many.high, 100001.0);
}

TEST(MedianInterval, TooFewSamplesHaveNoInterval) {
  EXPECT_TRUE(std::isnan(median_interval({}, 0.95).low));
  EXPECT_TRUE(std::isnan(median_interval(counted(5), 0.95).low));
  EXPECT_EQ(median_interval(counted(6), 0.95).low, 1.0);
  EXPECT_TRUE(std::isnan(median_interval(counted(6), 0.975).low));
  EXPECT_EQ(median_interval(counted(7), 0.975).high, 7.0);
  const std::vector<double> broken = {1, 2, 3, std::nan(""), 5, 6, 7, 8};
  EXPECT_TRUE(std::isnan(median_interval(broken, 0.5).low));
}

TEST(RankSum, CountsEveryOrder) {
  EXPECT_DOUBLE_EQ(rank_sum_p(counted(4), counted(4, 10.0)), 2.0 / 70.0);
  EXPECT_DOUBLE_EQ(rank_sum_p(counted(3), counted(3, 10.0)), 2.0 / 20.0);
  EXPECT_DOUBLE_EQ(rank_sum_p(counted(4), counted(4)), 1.0);
  // {1, 2, 4} of {1 .. 6}: sums 6 and 7 lie at or below, of 20.
  EXPECT_DOUBLE_EQ(rank_sum_p(std::vector<double>{1, 2, 4}, std::vector<double>{3, 5, 6}), 0.2);
  EXPECT_EQ(rank_sum_p({}, counted(3)), 1.0);
  EXPECT_EQ(rank_sum_p(counted(40), counted(40, 100.0)), 1.0);
}

TEST(TimeDifference, SaysFasterAndSlower) {
  const TimeSamples a{.durations_ns = noise(50, 1000.0, 1)};
  const TimeSamples b{.durations_ns = noise(50, 900.0, 2)};
  const TimeDifference faster = time_difference(a, b);
  EXPECT_EQ(faster.verdict, TimeVerdict::Faster) << faster.reason;
  EXPECT_NEAR(faster.ratio, 0.9, 0.01);
  EXPECT_LT(faster.interval.high, 1.0);
  EXPECT_THAT(faster.reason, HasSubstr("less time than A"));
  const TimeDifference slower = time_difference(b, a);
  EXPECT_EQ(slower.verdict, TimeVerdict::Slower) << slower.reason;
  EXPECT_NEAR(slower.interval.low, 1.0 / faster.interval.high, 1e-12);
}

TEST(TimeDifference, IsAmbiguousForAReason) {
  const TimeSamples a{.durations_ns = noise(50, 1000.0, 1), .sm_clock_mhz = 1980.0};
  TimeSamples b{.durations_ns = noise(50, 1000.0, 2)};
  EXPECT_THAT(time_difference(a, b).reason, HasSubstr("contains 1"));
  EXPECT_THAT(time_difference(a, {}).reason, HasSubstr("B has no samples"));
  EXPECT_THAT(time_difference({.durations_ns = counted(6)}, b).reason, HasSubstr("too few"));
  b = {.durations_ns = noise(50, 500.0, 2), .sm_clock_mhz = 1455.0};
  EXPECT_THAT(time_difference(a, b).reason, HasSubstr("1980 MHz for A and 1455 MHz for B"));
  b.sm_clock_mhz = 1965.0;
  EXPECT_EQ(time_difference(a, b).verdict, TimeVerdict::Faster);
  b.clock_reasons = 4;
  EXPECT_THAT(time_difference(a, b).reason, HasSubstr("clock was throttled for one side"));
  b.sm_clock_mhz = -1.0;  // unknown: no reason to doubt
  EXPECT_EQ(time_difference(a, b).verdict, TimeVerdict::Faster);
  const TimeSamples zero{.durations_ns = std::vector<double>(20, 0.0)};
  EXPECT_THAT(time_difference(zero, b).reason, HasSubstr("no ratio"));
}

/// Blocks of `size` samples around each of `means`.
TimeSamples blocks(const std::vector<double>& means, std::size_t size, unsigned seed) {
  TimeSamples samples;
  for (const double mean : means) {
    samples.blocks.push_back(samples.durations_ns.size());
    const std::vector<double> block = noise(size, mean, ++seed);
    samples.durations_ns.insert(samples.durations_ns.end(), block.begin(), block.end());
  }
  return samples;
}

TEST(TimeDifference, BlocksMustNotOverlap) {
  const TimeSamples a = blocks({1000, 1010, 990, 1005}, 20, 10);
  const TimeDifference apart = time_difference(a, blocks({900, 910, 890, 905}, 20, 20));
  EXPECT_EQ(apart.verdict, TimeVerdict::Faster) << apart.reason;
  EXPECT_DOUBLE_EQ(apart.block_p, 2.0 / 70.0);
  // One block of B lies among A's: drift, whatever the other samples show.
  const TimeDifference mixed = time_difference(a, blocks({900, 1050, 890, 905}, 200, 20));
  EXPECT_EQ(mixed.verdict, TimeVerdict::Ambiguous);
  EXPECT_THAT(mixed.reason, HasSubstr("overlap"));
  EXPECT_THAT(time_difference(blocks({1000, 1010}, 50, 10), blocks({900, 910}, 50, 20)).reason,
              HasSubstr("4 blocks are too few"));
}

TEST(TimeDifference, AControlAsLargeAsTheDifferenceAllowsNoVerdict) {
  const TimeSamples a = blocks({1000, 800, 1000, 800}, 20, 10);
  const TimeDifference difference = time_difference(a, blocks({780, 780, 780, 780}, 200, 20));
  EXPECT_NEAR(difference.control_ratio, 0.8, 0.01);
  EXPECT_EQ(difference.verdict, TimeVerdict::Ambiguous);
  EXPECT_THAT(difference.reason, HasSubstr("A differs as much from itself"));
}

TEST(TimeDifference, EqualSettingsRarelyDiffer) {
  // Blocks that drift by 2 % each, as a warm machine's do, far more than their own spread.
  std::mt19937 random(7);
  std::normal_distribution<double> drift(1000.0, 20.0);
  int told_apart = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<double> means_a;
    std::vector<double> means_b;
    for (int i = 0; i < 4; ++i) {
      means_a.push_back(drift(random));
      means_b.push_back(drift(random));
    }
    const unsigned seed = static_cast<unsigned>(trial) * 100U;
    const TimeDifference difference =
        time_difference(blocks(means_a, 20, seed), blocks(means_b, 20, seed + 50));
    if (difference.verdict != TimeVerdict::Ambiguous) ++told_apart;
  }
  EXPECT_LE(told_apart, 45);  // 2/70 of 1000 is 29; 3 standard deviations above
}

}  // namespace
