// Times iterations with a pair of CUDA events each, keeping a few in flight so that the device
// never waits for the host and a cancel is heard within a few iterations.
#pragma once

#include <array>
#include <vector>

#include "engine/device/handles.h"
#include "engine/linear/replay_watchdog.h"
#include "engine/model/error.h"
#include "engine/model/run_result.h"

namespace engine {

class IterationClock {
 public:
  /// `watchdog`: who waits, with a deadline; must outlive the clock. Null = for as long as it
  /// takes.
  static Result<IterationClock> create(ReplayWatchdog* watchdog = nullptr);

  /// Brackets the launches of one iteration. begin() waits while too many are in flight.
  Status begin(cudaStream_t stream);
  Status end(cudaStream_t stream);
  /// Waits for every iteration begun.
  Status finish();

  int finished() const { return static_cast<int>(iterations_.size()); }
  std::vector<Iteration> take() { return std::move(iterations_); }

 private:
  static constexpr int kInFlight = 8;
  // Twice as many pairs: the start of the iteration before the one being read must still stand.
  static constexpr int kPairs = 2 * kInFlight;
  struct Pair {
    Event start;
    Event end;
  };

  Status wait(cudaEvent_t end) const;
  Status read_next();

  ReplayWatchdog* watchdog_ = nullptr;
  std::array<Pair, kPairs> pairs_;
  int begun_ = 0;
  double start_ns_ = 0.0;  // of the iteration read last
  std::vector<Iteration> iterations_;
};

}  // namespace engine
