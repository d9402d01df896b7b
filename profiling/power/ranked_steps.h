// The steps of a routing file by their time in a run. Visits that were throttled and the first
// timed iteration are no times of the step: they are left out where it has others. Steps are ranked
// only as far as their ranges are apart. The window, the page and the CSV all read this. Plain
// values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/model/recorded_steps.h"
#include "profiling/power/power_summary.h"

namespace profiling {

enum class StepVisits : std::uint8_t {
  None,           // no visit has a time that counts
  Counted,        // those that were neither throttled nor the first timed iteration
  OnlyFirst,      // the step has no other: not ranked
  OnlyThrottled,  // likewise
};

struct StepTime {
  StepVisits visits = StepVisits::None;
  int counted = 0;  // visits that the times are of
  double lowest_ns = std::numeric_limits<double>::quiet_NaN();
  double highest_ns = std::numeric_limits<double>::quiet_NaN();
  int rank = 0;       // 1 + the number of steps whose whole range lies above; 0 = not ranked
  bool tied = false;  // its range overlaps that of another ranked step
};

struct RankedSteps {
  engine::RecordedRouting recorded;  // the run's, with the times of the visits that count
  std::vector<StepTime> times;       // [steps]
  /// All steps: those ranked, the longest median first, then those that have a time but no rank,
  /// then those without a time.
  std::vector<std::size_t> order;
  std::size_t timed = 0;  // so many at the beginning of the order have a time
  /// The beginning of the order, as many as are slower for certain than every other ranked step: at
  /// most kMostSlowest and half of those ranked. Empty if no such beginning exists.
  std::vector<std::size_t> slowest;
};

inline constexpr std::size_t kMostSlowest = 5;

/// `skip_throttled`: a step that has only throttled visits has no time. If all iterations were
/// throttled, they are alike, and all count.
std::shared_ptr<const RankedSteps> ranked_steps(const engine::RunResult& result,
                                                std::span<const PowerSample> samples,
                                                bool skip_throttled = false);

/// "slowest: 9, 7" in the numbers of the file; where none are slower than all others for certain,
/// "slowest: one of 9, 7, which cannot be told apart", or how many that is true of.
std::string slowest_words(const RankedSteps& ranked);

/// How the ranks are made, in sentences.
inline constexpr const char* kRankWords =
    "A step's time is the median of its iterations, without those that were throttled and without "
    "the first timed one; a step that has no others is not ranked. A rank is 1 + the number of "
    "steps whose range lies wholly above. =: the range overlaps that of another step, and the two "
    "cannot be told apart, even if their ranks differ. The range of a step with fewer than 5 "
    "iterations counts as at least as wide as the widest of all steps. Called slowest are at most "
    "5 steps, each of which is slower for certain than every step that is not named.";

}  // namespace profiling
