// The timed iterations of a run, and which of them were throttled. Plain values.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/model/run_result.h"
#include "profiling/power/power_summary.h"

namespace profiling {

struct StepTimes {
  std::vector<double> durations_ns;  // of all, in order
  /// One per iteration: a reading inside it, the last before it, or the first after it names a
  /// reason of kThrottleReasons. A reading at the moment when one iteration ends and the next
  /// begins is inside the next. Empty if the run has no readings.
  std::vector<bool> throttled;
  std::size_t throttled_count = 0;
  std::uint64_t reasons = 0;  // those of kThrottleReasons that the readings named

  /// There are iterations of both kinds, so that the throttled ones can be skipped.
  bool mixed() const { return throttled_count > 0 && throttled_count < durations_ns.size(); }
  /// Without the throttled ones if `skip_throttled` and mixed(), else all.
  std::vector<double> counted_ns(bool skip_throttled) const;
};

/// How many a number stands for: "n 50, 12 throttled", "n 38, 12 throttled skipped".
std::string sample_text(const StepTimes& times, bool skip_throttled);

std::vector<double> durations_ns(std::span<const engine::Iteration> iterations);
/// `samples` ascend and have the time axis of the iterations, as PowerTrace's do.
StepTimes step_times(std::span<const engine::Iteration> iterations,
                     std::span<const PowerSample> samples);

/// From the first timed iteration to the end of the last. A run is sampled for longer: also while
/// it warms up, and while it is measured and checked after the timed iterations.
TimeSpan timed_span(std::span<const engine::Iteration> iterations);

}  // namespace profiling
