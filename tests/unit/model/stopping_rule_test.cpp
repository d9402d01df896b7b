// When iterations end: after their number, once the median is known, or when the time is up.
#include "engine/model/stopping_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "engine/model/median_interval.h"

namespace engine {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// Iterations of 1 ms with a spread: 1 + spread * (-1 to 1).
class Samples {
 public:
  Samples(const LaunchMode& mode, double spread) : rule(mode), spread_(spread) {}

  /// Until the rule ends them, or `most`; how many there were.
  int go(int most = 2 * kMaxIterations) {
    while (static_cast<int>(done.size()) < most &&
           rule.goes_on(static_cast<int>(done.size()), done, elapsed)) {
      fractions.push_back(rule.fraction(static_cast<int>(done.size()), elapsed));
      // Irrational steps: spread evenly over the range, in no order.
      const double place = std::fmod(0.6180339887 * static_cast<double>(done.size()), 1.0);
      const double ms = 1 + spread_ * (2 * place - 1);
      done.push_back({.start_ns = elapsed, .duration_ns = std::llround(ms * kMs)});
      elapsed += done.back().duration_ns;
    }
    return static_cast<int>(done.size());
  }

  StoppingRule rule;
  std::vector<Iteration> done;
  std::vector<double> fractions;
  std::int64_t elapsed = 0;

 private:
  double spread_;
};

TEST(StoppingRule, AFixedNumberIsThatNumberWhateverItsSpread) {
  Samples run({.iterations = 17, .time_limit_s = 0.1}, 0.9);
  EXPECT_EQ(run.rule.expected(), 17);
  EXPECT_EQ(run.go(), 17);
  EXPECT_EQ(run.rule.end(), IterationEnd::FixedCount);
}

TEST(StoppingRule, EndsOnceTheMedianIsKnown) {
  Samples run({.iterations = 10, .median_within = 1, .time_limit_s = 3600}, 0.1);
  const int made = run.go();
  EXPECT_EQ(run.rule.end(), IterationEnd::Converged);
  std::vector<double> samples;
  for (const Iteration& one : run.done) samples.push_back(static_cast<double>(one.duration_ns));
  const Interval interval = median_interval(samples);
  EXPECT_LE(interval.high / kMs - 1, 0.011);
  EXPECT_GE(interval.low / kMs - 1, -0.011);
  // Uniform on 1 +- 0.1: the interval reaches 1.96 * 0.1 / sqrt(n), so about 384 are needed.
  EXPECT_GT(made, 250);
  EXPECT_LT(made, 600);
}

TEST(StoppingRule, ATighterWishTakesMoreIterationsAndTheFewestAreAlwaysRun) {
  Samples loose({.iterations = 10, .median_within = 5, .time_limit_s = 3600}, 0.1);
  Samples tight({.iterations = 10, .median_within = 0.5, .time_limit_s = 3600}, 0.1);
  EXPECT_LT(4 * loose.go(), tight.go());
  Samples many({.iterations = 500, .median_within = 50, .time_limit_s = 3600}, 0.1);
  EXPECT_EQ(many.go(), 500);
  EXPECT_EQ(many.rule.end(), IterationEnd::Converged);
  // Six samples are the fewest with a 95 % interval.
  Samples few({.iterations = 1, .median_within = 50, .time_limit_s = 3600}, 0);
  EXPECT_EQ(few.go(), 6);
}

TEST(StoppingRule, EndsWhenTheTimeIsUp) {
  Samples run({.iterations = 10, .median_within = 0.01, .time_limit_s = 0.5}, 0.5);
  const int made = run.go();
  EXPECT_EQ(run.rule.end(), IterationEnd::TimeLimit);
  EXPECT_GE(run.elapsed, 500 * kMs);
  EXPECT_LT(run.elapsed, 502 * kMs);
  EXPECT_GT(run.rule.expected(), made) << "it says how many it would have taken";
  Samples first({.iterations = 900, .median_within = 0.01, .time_limit_s = 0.5}, 0.5);
  EXPECT_EQ(first.go(), 900) << "the fewest are run, however long they take";
}

TEST(StoppingRule, WhatIsKnownWhenTheTimeIsUpCountsAsKnown) {
  // Checks are far apart by then: the samples since the last one decide.
  Samples run({.iterations = 10, .median_within = 40, .time_limit_s = 0.1}, 0.1);
  EXPECT_EQ(run.go(9), 9);
  EXPECT_FALSE(run.rule.goes_on(10, run.done, 200 * kMs));
  EXPECT_EQ(run.rule.end(), IterationEnd::Converged);
  Samples wide({.iterations = 10, .median_within = 0.1, .time_limit_s = 0.1}, 0.5);
  EXPECT_EQ(wide.go(9), 9);
  EXPECT_FALSE(wide.rule.goes_on(10, wide.done, 200 * kMs));
  EXPECT_EQ(wide.rule.end(), IterationEnd::TimeLimit);
}

TEST(StoppingRule, EndsAtTheMostIterations) {
  Samples run({.iterations = 10, .median_within = 0.01, .time_limit_s = 3600}, 0.99);
  EXPECT_EQ(run.go(), kMaxIterations);
  EXPECT_EQ(run.rule.end(), IterationEnd::MaxIterations);
}

TEST(StoppingRule, ProgressNeverFalls) {
  for (const double within : {0.0, 0.5}) {
    Samples run({.iterations = 50, .median_within = within, .time_limit_s = 1}, 0.2);
    run.go();
    for (std::size_t i = 1; i < run.fractions.size(); ++i) {
      ASSERT_LE(run.fractions[i - 1], run.fractions[i]);
      ASSERT_LE(run.fractions[i], 1.0);
    }
  }
}

}  // namespace
}  // namespace engine
