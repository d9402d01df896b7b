// Decides when the timed iterations of a run end: after a fixed number, once their median is known
// precisely enough, or at the time limit. It reads no clock, so that it is tested without waiting.
#pragma once

#include <cstdint>
#include <span>

#include "engine/model/run_request.h"
#include "engine/model/run_result.h"

namespace engine {

class StoppingRule {
 public:
  /// `cycle`: a run without a fixed number ends after a multiple of so many iterations, unless its
  /// time is up.
  explicit StoppingRule(const LaunchMode& mode, int cycle = 1)
      : mode_(mode), cycle_(cycle), next_check_(mode.iterations) {}

  /// Whether iteration number `begun` (from 0) should run. `finished` has the samples so far, fewer
  /// than `begun` while iterations are in flight; `elapsed_ns` is the time since the first began.
  bool goes_on(int begun, std::span<const Iteration> finished, std::int64_t elapsed_ns);

  /// How many there will be, as far as the samples tell.
  int expected() const { return expected_ > 0 ? expected_ : mode_.iterations; }
  /// Share of the run that is done, 0 to 1; never falls while iterations and time rise.
  double fraction(int finished, std::int64_t elapsed_ns) const;
  /// Why it ended; once goes_on() was false.
  IterationEnd end() const { return end_; }

 private:
  bool known(std::span<const Iteration> finished);

  LaunchMode mode_;
  int cycle_;
  int next_check_;
  int expected_ = 0;
  IterationEnd end_ = IterationEnd::FixedCount;
};

}  // namespace engine
