// Which visits of a recorded step count, and how far steps can be told apart.
#include "profiling/power/ranked_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "engine/model/run_result.h"

namespace profiling {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Iterations of these durations, one after the other, as the visits of so many steps.
engine::RunResult run_of(std::size_t steps, const std::vector<std::int64_t>& durations_ns) {
  engine::RunResult result;
  std::int64_t start = 0;
  for (const std::int64_t duration : durations_ns) {
    result.iterations.push_back({start, duration});
    start += duration;
  }
  auto& recorded = result.recorded_routing.emplace();
  for (std::size_t i = 0; i < steps; ++i) {
    recorded.steps.push_back({.step = static_cast<std::int64_t>(10 + i), .splits = {1}});
  }
  add_times(result.iterations, recorded.steps);
  return result;
}

/// Readings that name the power cap between the iterations at `first` and `last`.
std::vector<PowerSample> power_cap(const engine::RunResult& result, std::size_t first,
                                   std::size_t last) {
  std::vector<PowerSample> samples;
  for (std::size_t i = 0; i < result.iterations.size(); ++i) {
    const engine::Iteration& one = result.iterations[i];
    const bool capped = i >= first && i <= last;
    for (const std::int64_t part : {1, 9}) {
      samples.push_back({.time_ns = one.start_ns + part * one.duration_ns / 10,
                         .clock_reasons = capped ? 0x4U : 0x0U});
    }
  }
  return samples;
}

TEST(RankedSteps, TheFirstIterationIsNoTimeOfAStepThatHasOthers) {
  const auto ranked = ranked_steps(run_of(2, {900, 200, 100, 210, 110, 205}), {});
  EXPECT_EQ(ranked->times[0].visits, StepVisits::Counted);
  EXPECT_EQ(ranked->times[0].counted, 2);
  EXPECT_DOUBLE_EQ(ranked->recorded.steps[0].median_ns, 105.0) << "without 900";
  EXPECT_EQ(ranked->recorded.steps[0].visits, 3) << "it ran three times all the same";
  EXPECT_DOUBLE_EQ(ranked->times[0].lowest_ns, 100.0);
  EXPECT_DOUBLE_EQ(ranked->times[0].highest_ns, 110.0);
  EXPECT_THAT(ranked->order, ElementsAre(1, 0));
  EXPECT_EQ(ranked->times[1].rank, 1);
  EXPECT_EQ(ranked->times[0].rank, 2);
  EXPECT_EQ(slowest_words(*ranked), "slowest: 11");
}

TEST(RankedSteps, ThrottledVisitsAreLeftOutOrNotRanked) {
  // Three visits of each of three steps; the second iteration and its neighbours were throttled.
  const engine::RunResult result = run_of(3, {500, 500, 500, 100, 102, 101, 101, 103, 100});
  std::vector<PowerSample> samples = power_cap(result, 1, 1);
  const auto ranked = ranked_steps(result, samples);
  EXPECT_DOUBLE_EQ(ranked->recorded.steps[1].median_ns, 102.5);
  EXPECT_EQ(ranked->times[1].counted, 2);

  // All visits of steps 1 and 2 were: not ranked and never first, or, on request, without a time.
  engine::RunResult once = run_of(3, {100, 500, 100, 101});
  samples = power_cap(once, 1, 1);
  const auto unranked = ranked_steps(once, samples);
  EXPECT_EQ(unranked->times[1].visits, StepVisits::OnlyThrottled);
  EXPECT_EQ(unranked->times[1].rank, 0);
  EXPECT_DOUBLE_EQ(unranked->recorded.steps[1].median_ns, 500.0);
  EXPECT_THAT(unranked->order, ElementsAre(0, 1, 2)) << "the longest time is not first";
  const auto skipped = ranked_steps(once, samples, true);
  EXPECT_TRUE(std::isnan(skipped->recorded.steps[1].median_ns));
  EXPECT_EQ(skipped->times[1].counted, 0);
  EXPECT_EQ(skipped->timed, 1U);

  // Throttled throughout: nothing is to be left out but the first.
  const auto alike = ranked_steps(result, power_cap(result, 0, 8));
  EXPECT_EQ(alike->times[1].counted, 3);
  EXPECT_EQ(alike->times[0].counted, 2);
}

TEST(RankedSteps, StepsWhoseRangesOverlapShareARank) {
  // Five visits after the first pass; steps 0 and 1 overlap, step 2 is far above them.
  std::vector<std::int64_t> durations;
  for (const std::int64_t wave : {0, 4, 1, 3, 2, 5}) {
    for (const std::int64_t step : {100, 102, 200, 101}) durations.push_back(step + wave);
  }
  const auto ranked = ranked_steps(run_of(4, durations), {});
  EXPECT_THAT(ranked->order, ElementsAre(2, 1, 3, 0));
  EXPECT_EQ(ranked->times[2].rank, 1);
  EXPECT_FALSE(ranked->times[2].tied);
  for (const std::size_t step : {0U, 1U, 3U}) {
    EXPECT_EQ(ranked->times[step].rank, 2) << step;
    EXPECT_TRUE(ranked->times[step].tied) << step;
  }
  EXPECT_THAT(ranked->slowest, ElementsAre(2));
  EXPECT_EQ(slowest_words(*ranked), "slowest: 12");
}

/// Six visits of each step, of which five count: from `low` to `high` in equal parts.
std::vector<std::int64_t> visits_between(
    const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges) {
  std::vector<std::int64_t> durations;
  for (const std::int64_t part : {2, 0, 1, 2, 3, 4}) {
    for (const auto& [low, high] : ranges) durations.push_back(low + part * (high - low) / 4);
  }
  return durations;
}

TEST(RankedSteps, WhatIsNamedIsSlowerThanAllThatIsNot) {
  // Each of the first three overlaps its neighbour; the rest lies far below.
  const auto ranked = ranked_steps(
      run_of(6,
             visits_between(
                 {{1120, 1140}, {1110, 1130}, {1104, 1116}, {900, 904}, {880, 884}, {860, 864}})),
      {});
  EXPECT_THAT(ranked->slowest, ElementsAre(0, 1, 2));
  EXPECT_EQ(slowest_words(*ranked), "slowest: 10, 11, 12");
  std::vector<std::pair<int, bool>> ranks;
  for (const StepTime& time : ranked->times) ranks.emplace_back(time.rank, time.tied);
  // Step 12 is below step 10 for certain, and cannot be told from step 11.
  EXPECT_THAT(ranks, ElementsAre(std::pair(1, true), std::pair(1, true), std::pair(2, true),
                                 std::pair(4, false), std::pair(5, false), std::pair(6, false)));
}

TEST(RankedSteps, WhereRangesOverlapAllTheWayNoneIsNamedAsSlowest) {
  const auto ranked = ranked_steps(run_of(6, visits_between({{1120, 1140},
                                                             {1110, 1130},
                                                             {1104, 1116},
                                                             {1092, 1108},
                                                             {1080, 1096},
                                                             {1068, 1084}})),
                                   {});
  EXPECT_THAT(ranked->slowest, IsEmpty());
  EXPECT_EQ(slowest_words(*ranked), "slowest: one of 10, 11, which cannot be told apart");
  EXPECT_EQ(ranked->times[2].rank, 2);
  EXPECT_TRUE(ranked->times[2].tied);
}

TEST(RankedSteps, OneVisitOfEachTellsNothing) {
  const auto ranked = ranked_steps(run_of(3, {100, 200, 300}), {});
  EXPECT_THAT(ranked->slowest, IsEmpty());
  EXPECT_EQ(ranked->times[1].rank, 1);
  EXPECT_EQ(ranked->times[2].rank, 1);
  EXPECT_EQ(ranked->times[0].visits, StepVisits::OnlyFirst);
  EXPECT_THAT(ranked->order, ElementsAre(2, 1, 0)) << "what is not ranked comes last";
}

TEST(RankedSteps, FewVisitsAreAsWideAsTheWidest) {
  // Two visits each: those of step 1 agree by luck, and would lie apart from those of step 2.
  const auto ranked = ranked_steps(
      run_of(4, {900, 900, 900, 900, 100, 110, 115, 95, 120, 110, 116, 96, 121, 110, 117, 97}), {});
  EXPECT_THAT(ranked->slowest, IsEmpty());
  EXPECT_EQ(slowest_words(*ranked), "slowest: not distinguishable");
}

TEST(RankedSteps, MicroBatchesInFlightHaveNoTimes) {
  engine::RunResult result = run_of(2, {100, 200});
  for (engine::RecordedStep& step : result.recorded_routing->steps) step.median_ns = NAN;
  const auto ranked = ranked_steps(result, {});
  EXPECT_EQ(ranked->timed, 0U);
  EXPECT_THAT(ranked->order, ElementsAre(0, 1));
  EXPECT_EQ(slowest_words(*ranked), "no step has a time of its own");
  EXPECT_TRUE(ranked_steps({}, {})->order.empty());
}

}  // namespace
}  // namespace profiling
