// Intervals and verdicts against numbers worked out by hand or by enumeration.
#include "profiling/compare/time_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "profiling/compare/comparison_tables.h"
#include "profiling/document/text.h"

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
  EXPECT_THAT(time_difference({}, {}).reason, HasSubstr("Neither side has samples"));
  EXPECT_THAT(time_difference({.durations_ns = counted(6)}, b).reason,
              HasSubstr("6 and 50 samples are too few for an interval; take at least 7"));
  const TimeSamples zero{.durations_ns = std::vector<double>(20, 0.0)};
  EXPECT_THAT(time_difference(zero, b).reason, HasSubstr("no ratio"));
}

TEST(TimeDifference, ASideWithoutSamplesIsOnlyInTheOther) {
  const TimeSamples some{.durations_ns = noise(50, 1000.0, 1)};
  EXPECT_EQ(time_difference(some, {}).verdict, TimeVerdict::OnlyA);
  EXPECT_EQ(time_difference({}, some).verdict, TimeVerdict::OnlyB);
  EXPECT_EQ(time_difference({}, {}).verdict, TimeVerdict::Ambiguous);
  EXPECT_EQ(engine::name_of(TimeVerdict::OnlyA), "only in A");
  EXPECT_FALSE(time_difference(some, {}).decided());
}

TEST(TimeDifference, AClockExplainsAtMostItsOwnRatio) {
  const TimeSamples a{.durations_ns = noise(50, 1000.0, 1), .sm_clock_mhz = 1840.0};
  TimeSamples b{.durations_ns = noise(50, 738.0, 2), .sm_clock_mhz = 1969.0};
  const TimeDifference faster = time_difference(a, b);
  EXPECT_EQ(faster.verdict, TimeVerdict::Faster) << faster.reason;
  EXPECT_DOUBLE_EQ(faster.clock_ratio, 1840.0 / 1969.0);
  EXPECT_THAT(faster.reason, HasSubstr("At most 6.6 % can be the SM clock: 1840 MHz for A and "
                                       "1969 MHz for B"));
  // 5 % less time at a 7 % higher clock shows nothing.
  b.durations_ns = noise(50, 950.0, 2);
  const TimeDifference explained = time_difference(a, b);
  EXPECT_EQ(explained.verdict, TimeVerdict::Ambiguous);
  EXPECT_THAT(explained.reason,
              HasSubstr("does not lie beyond what the SM clock can explain. At most 6.6 %"));
  // 5 % more time at a higher clock is slower all the more.
  b.durations_ns = noise(50, 1050.0, 2);
  const TimeDifference slower = time_difference(a, b);
  EXPECT_EQ(slower.verdict, TimeVerdict::Slower) << slower.reason;
  EXPECT_THAT(slower.reason, HasSubstr("differed the other way"));
  // One step of the clock is noise, and an unknown clock gives no reason to doubt.
  for (const double clock : {1825.0, -1.0}) {
    b.sm_clock_mhz = clock;
    EXPECT_EQ(time_difference(a, b).clock_ratio, 1.0);
    EXPECT_EQ(time_difference(a, b).verdict, TimeVerdict::Slower);
  }
  // Throttled on one side only: the median hides dips, but not large ones.
  b = {.durations_ns = noise(400, 1015.0, 3), .sm_clock_mhz = 1840.0, .clock_reasons = 4};
  const TimeSamples steady{.durations_ns = noise(400, 1000.0, 4), .sm_clock_mhz = 1840.0};
  EXPECT_EQ(time_difference(steady, b).verdict, TimeVerdict::Ambiguous);
  EXPECT_THAT(time_difference(steady, b).reason, HasSubstr("throttled for one side only"));
  b.durations_ns = noise(400, 1050.0, 3);
  EXPECT_EQ(time_difference(steady, b).verdict, TimeVerdict::Slower);
}

TEST(TimeDifference, RowsShareOneProbabilityOfAFalseVerdict) {
  // The interval at 99 % excludes 1, that of one among 400 does not.
  TimeSamples a{.durations_ns = counted(20, 100.0)};
  TimeSamples b{.durations_ns = counted(20, 115.0)};
  EXPECT_EQ(time_difference(a, b).verdict, TimeVerdict::Slower) << time_difference(a, b).reason;
  const TimeDifference among = time_difference(a, b, 400);
  EXPECT_EQ(among.verdict, TimeVerdict::Ambiguous);
  EXPECT_THAT(among.reason, HasSubstr("A verdict among 400 rows needs an interval at 99.9975 %"));
  EXPECT_EQ(among.interval.low, time_difference(a, b).interval.low);
  a.durations_ns = counted(10, 100.0);
  b.durations_ns = counted(10, 500.0);
  EXPECT_THAT(time_difference(a, b, 400).reason,
              HasSubstr("10 and 10 samples are too few for a verdict among 400 rows; take at least "
                        "18 of each"));
}

TEST(FewestBlocks, SeparateBlocksMustBeUnlikelyEnough) {
  // 2 / (10 choose 5) = 0.0079, 2 / (8 choose 4) = 0.029.
  EXPECT_EQ(profiling::fewest_blocks(), 10U);
  EXPECT_EQ(profiling::fewest_blocks(6), 14U);   // 2 / 3432 <= 0.01 / 6 < 2 / 924
  EXPECT_EQ(profiling::fewest_blocks(64), 16U);  // 2 / 12870 <= 0.01 / 64
  EXPECT_EQ(profiling::fewest_blocks(65), 18U);
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

TEST(TimeDifference, ProbabilityAndItsLimitAreToldApart) {
  // Eight blocks each, only one of A above all of B: p = 2 * 67 / 12870 = 0.0104.
  const TimeSamples a = blocks({1000, 1001, 1002, 1003, 1004, 1005, 1006, 1300}, 12, 1);
  const TimeSamples b = blocks({1200, 1201, 1202, 1203, 1204, 1205, 1206, 1207}, 12, 2);
  const TimeDifference difference = time_difference(a, b);
  ASSERT_NEAR(difference.block_p, 0.01041, 1e-5);
  EXPECT_THAT(difference.reason, HasSubstr("with probability p = 0.0104 (rank-sum test)"));
  EXPECT_THAT(difference.reason, HasSubstr("needs p of at most 0.01."));
}

TEST(TimeDifference, BlocksMustNotOverlap) {
  const TimeSamples a = blocks({1000, 1010, 990, 1005, 995}, 20, 10);
  const TimeSamples b = blocks({900, 910, 890, 905, 895}, 20, 20);
  const TimeDifference apart = time_difference(a, b);
  EXPECT_EQ(apart.verdict, TimeVerdict::Faster) << apart.reason;
  EXPECT_DOUBLE_EQ(apart.block_p, 2.0 / 252.0);
  EXPECT_THAT(
      time_difference(a, b, 6).reason,
      HasSubstr("10 blocks are too few to distinguish a difference among 6 rows from drift; "
                "take at least 14"));
  // One block of B lies among A's: drift, whatever the other samples show.
  const TimeDifference mixed = time_difference(a, blocks({900, 1050, 890, 905, 895}, 200, 20));
  EXPECT_EQ(mixed.verdict, TimeVerdict::Ambiguous);
  EXPECT_THAT(mixed.reason, HasSubstr("overlap"));
  EXPECT_EQ(mixed.unmet, "p 0.15 > 0.01") << "beside an interval that excludes 1";
  EXPECT_FALSE(mixed.interval.contains(1.0));
  profiling::RunComparison comparison;
  comparison.step = mixed;
  EXPECT_THAT(profiling::text_of(profiling::time_differences_table(comparison)),
              HasSubstr("ambiguous: p 0.15 > 0.01"));
  EXPECT_EQ(apart.unmet, "");
  EXPECT_THAT(
      time_difference(blocks({1000, 1010, 990, 1005}, 50, 10), blocks({900, 910, 890, 905}, 50, 20))
          .reason,
      HasSubstr("8 blocks are too few to distinguish a difference from drift; take at "
                "least 10"));
}

TEST(TimeDifference, AControlAsLargeAsTheDifferenceAllowsNoVerdict) {
  const TimeSamples a = blocks({1000, 800, 1000, 800, 1000, 800}, 20, 10);
  const TimeDifference difference =
      time_difference(a, blocks({780, 780, 780, 780, 780, 780}, 200, 20));
  EXPECT_NEAR(difference.control_ratio, 0.8, 0.01);
  EXPECT_EQ(difference.verdict, TimeVerdict::Ambiguous);
  EXPECT_THAT(difference.reason, HasSubstr("A differs as much from itself"));
}

TEST(TimeDifference, ANoisyControlIsNamedBesideAVerdict) {
  const TimeSamples noisy = blocks({1000, 900, 1000, 900, 1000, 900}, 5, 10);
  const TimeSamples far = blocks({500, 500, 500, 500, 500, 500}, 5, 20);
  const TimeDifference difference = time_difference(noisy, far);
  EXPECT_EQ(difference.verdict, TimeVerdict::Faster);
  EXPECT_THAT(difference.reason,
              HasSubstr("The machine is noisy: A's own even blocks take 0.893 of its odd"));
  const TimeSamples quiet = blocks({1000, 990, 1000, 990, 1000, 990}, 5, 10);
  EXPECT_THAT(time_difference(quiet, far).reason, testing::Not(HasSubstr("noisy")));
}

/// 16 blocks of 20 samples of two sides, those of B around `mean_b`, of A around 1000. Each block
/// drifts by `drift` (normal), far more than its own samples do, as on a warm machine.
TimeDifference measured(double mean_b, double drift, std::size_t rows, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> factor(1.0, drift);
  std::vector<double> means_a;
  std::vector<double> means_b;
  for (int i = 0; i < 8; ++i) {
    means_a.push_back(1000.0 * factor(random));
    means_b.push_back(mean_b * factor(random));
  }
  return time_difference(blocks(means_a, 20, seed), blocks(means_b, 20, seed + 50), rows);
}

TEST(TimeDifference, EqualSettingsRarelyDiffer) {
  // Of 300 tables about 2 are expected to have one (8 + 8 blocks attain 0.0011 for each of seven
  // rows), and about 14 if every row took the whole 1 %.
  int steps = 0;
  int tables = 0;
  for (unsigned table = 0; table < 300; ++table) {
    steps += measured(1000.0, 0.02, 1, 1000 * table).decided() ? 1 : 0;
    bool any = false;
    for (unsigned row = 1; row < 8; ++row) {
      any = any || measured(1000.0, 0.02, 7, 1000 * table + 100 * row).decided();
    }
    tables += any ? 1 : 0;
  }
  EXPECT_LE(steps, 8);  // 3 expected, and 3 standard deviations
  EXPECT_LE(tables, 7);
}

TEST(TimeDifference, ADelayOfFivePercentIsSeen) {
  int called = 0;
  for (unsigned trial = 0; trial < 100; ++trial) {
    called += measured(1050.0, 0.01, 7, 1000 * trial).verdict == TimeVerdict::Slower ? 1 : 0;
  }
  EXPECT_GE(called, 90);
}

}  // namespace
