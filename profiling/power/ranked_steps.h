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
  OnlyFirst,      // the step has no other: marked and not ranked
  OnlyThrottled,  // likewise
};

struct StepTime {
  StepVisits visits = StepVisits::None;
  int counted = 0;  // visits that the times are of
  double lowest_ns = std::numeric_limits<double>::quiet_NaN();
  double highest_ns = std::numeric_limits<double>::quiet_NaN();
  int rank = 0;       // 1 + the number of steps that are slower for certain; 0 = not ranked
  bool tied = false;  // another step has this rank
};

struct RankedSteps {
  engine::RecordedRouting recorded;  // the run's, with the times of the visits that count
  std::vector<StepTime> times;       // [steps]
  /// All steps: those ranked, the longest median first, then those marked, then those without a
  /// time.
  std::vector<std::size_t> order;
  std::size_t timed = 0;  // so many at the beginning of the order have a time
  /// The beginning of the order: at most kMostSlowest, each slower for certain than the step in the
  /// middle of those ranked.
  std::vector<std::size_t> slowest;
};

inline constexpr std::size_t kMostSlowest = 5;

/// `skip_throttled`: a step that has only throttled visits has no time. If all iterations were
/// throttled, they are alike, and all count.
std::shared_ptr<const RankedSteps> ranked_steps(const engine::RunResult& result,
                                                std::span<const PowerSample> samples,
                                                bool skip_throttled = false);

/// "slowest: 9, 7" in the numbers of the file; "slowest: not distinguishable".
std::string slowest_words(const RankedSteps& ranked);

/// How the ranks are made, in sentences.
inline constexpr const char* kRankWords =
    "A step's time is the median of its iterations, without those that were throttled and without "
    "the first timed one; a step that has no others is marked and not ranked. Steps whose ranges "
    "overlap share a rank: they are not distinguishable. The range of a step with fewer than 5 "
    "iterations counts as at least as wide as the widest of all steps.";

}  // namespace profiling
