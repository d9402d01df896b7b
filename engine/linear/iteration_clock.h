// Times iterations with a pair of CUDA events each, keeping a few in flight so that the device
// never waits for the host and a cancellation takes effect within a few iterations; also, what
// happens between two iterations.
#pragma once

#include <array>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/device/handles.h"
#include "engine/linear/replay_watchdog.h"
#include "engine/model/error.h"
#include "engine/model/measurement.h"
#include "engine/model/run_result.h"

namespace engine {

class IterationClock {
 public:
  /// `watchdog` waits with a deadline and must outlive the clock. Null = waits without limit.
  static Result<IterationClock> create(ReplayWatchdog* watchdog = nullptr);

  /// Brackets the launches of one iteration. begin() waits while too many are in flight.
  Status begin(cudaStream_t stream);
  Status end(cudaStream_t stream);
  /// Waits for every iteration begun.
  Status finish();

  int finished() const { return static_cast<int>(iterations_.size()); }
  const std::vector<Iteration>& so_far() const { return iterations_; }
  std::vector<Iteration> take() { return std::move(iterations_); }

 private:
  static constexpr int kInFlight = 8;
  // Twice as many event pairs, because the start of the iteration before the one being read is
  // still needed.
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

// What happens between two timed iterations: nothing, a pause, or a write that evicts the step's
// data from the L2 cache. Outside of the iterations' events.

class IterationConditions {
 public:
  /// Allocates what CacheMode::Cold needs: twice the device's L2 cache.
  static Result<IterationConditions> create(const MeasureOptions& options);

  /// Whether anything is done before an iteration at all.
  bool any() const { return rest_ || static_cast<bool>(flush_); }
  /// Whether the device is to be idle before an iteration.
  bool rests() const { return rest_; }
  /// Before the events of an iteration. Burst waits for the device.
  Status before(cudaStream_t stream) const;

 private:
  bool rest_ = false;
  DeviceBuffer flush_;
};

}  // namespace engine
