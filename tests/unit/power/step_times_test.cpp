#include "profiling/power/step_times.h"

#include <gtest/gtest.h>

#include <vector>

namespace profiling {
namespace {

constexpr std::uint64_t kPowerCap = 4;
constexpr std::uint64_t kIdle = 1;

/// Back to back, 10 ns each.
std::vector<engine::Iteration> iterations(int count) {
  std::vector<engine::Iteration> all;
  for (int i = 0; i < count; ++i) all.push_back({.start_ns = 10 * i, .duration_ns = 10});
  return all;
}

TEST(StepTimes, MarksIterationsBetweenReadingsThatNameALimit) {
  const std::vector<PowerSample> samples = {{.time_ns = -5},
                                            {.time_ns = 5},
                                            {.time_ns = 12},
                                            {.time_ns = 35, .clock_reasons = kPowerCap},
                                            {.time_ns = 55}};
  const StepTimes times = step_times(iterations(8), samples);
  // The first reading after iteration 0 is still free; iteration 5 begins after one that is not.
  EXPECT_EQ(times.throttled,
            (std::vector<bool>{false, true, true, true, true, true, false, false}));
  EXPECT_EQ(times.throttled_count, 5U);
  EXPECT_EQ(times.reasons, kPowerCap);
  EXPECT_TRUE(times.mixed());
  EXPECT_EQ(times.counted_ns(true).size(), 3U);
  EXPECT_EQ(times.counted_ns(false).size(), 8U);
}

TEST(StepTimes, AReadingAtAnEdgeBelongsToTheIterationThatBegins) {
  // Of the iterations from 0, 10, 20, ...: inside that from 20, the first after that from 10, the
  // last before that from 30, whose own first after comes at its end.
  const std::vector<PowerSample> at_edge = {{.time_ns = 0},
                                            {.time_ns = 10},
                                            {.time_ns = 20, .clock_reasons = kPowerCap},
                                            {.time_ns = 30},
                                            {.time_ns = 40}};
  EXPECT_EQ(step_times(iterations(5), at_edge).throttled,
            (std::vector<bool>{false, true, true, true, false}));
  // What comes after a reading at its end is no longer about an iteration.
  const std::vector<PowerSample> after_end = {
      {.time_ns = 0}, {.time_ns = 10}, {.time_ns = 11, .clock_reasons = kPowerCap}};
  EXPECT_EQ(step_times(iterations(2), after_end).throttled, (std::vector<bool>{false, true}));
}

TEST(StepTimes, KnowsNothingWithoutReadings) {
  const StepTimes times = step_times(iterations(3), {});
  EXPECT_TRUE(times.throttled.empty());
  EXPECT_EQ(times.counted_ns(true), times.durations_ns);
}

TEST(StepTimes, IdleAndChosenClocksHoldNothingDown) {
  const std::vector<PowerSample> samples = {{.time_ns = 0, .clock_reasons = kIdle | 2U}};
  const StepTimes times = step_times(iterations(3), samples);
  EXPECT_EQ(times.throttled_count, 0U);
  EXPECT_EQ(times.throttled.size(), 3U) << "known, and not throttled";
}

TEST(StepTimes, IfAllWereHeldNoneIsLeftOut) {
  const std::vector<PowerSample> samples = {{.time_ns = 0, .clock_reasons = kPowerCap}};
  const StepTimes times = step_times(iterations(3), samples);
  EXPECT_EQ(times.throttled_count, 3U);
  EXPECT_FALSE(times.mixed());
  EXPECT_EQ(times.counted_ns(true).size(), 3U);
}

}  // namespace
}  // namespace profiling
