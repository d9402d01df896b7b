// Watches the launches of this worker's runs. A late replay, or a launch that does not return, is
// answered with what was observed of it, and the worker ends, because the wait might never end.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "app/worker/backends.h"
#include "app/worker/frame_sender.h"
#include "engine/model/error.h"
#include "engine/model/guarded_thread.h"
#include "engine/model/run_request.h"
#include "engine/observe/replay_watch.h"
#include "profiling/hazards/model/launch_clock.h"
#include "profiling/hazards/model/live_board.h"

namespace profiling {
class Probe;
}

namespace app {

/// Checks every 50 ms whether the engine thread is stuck inside a launch call, from a thread that
/// makes no CUDA call. The pulse continues meanwhile.
class LaunchGuard {
 public:
  using OnBlocked = std::function<void(const profiling::BlockedLaunch&)>;

  LaunchGuard() = default;
  ~LaunchGuard();
  LaunchGuard(const LaunchGuard&) = delete;
  LaunchGuard& operator=(const LaunchGuard&) = delete;

  /// For the launching thread.
  profiling::LaunchClock& clock() { return clock_; }
  /// Watches launches from now on; `on_blocked` need not return. The first call starts the thread.
  void watch(OnBlocked on_blocked);

 private:
  void check_until_stopped();

  profiling::LaunchClock clock_;
  std::mutex mutex_;
  std::condition_variable stopped_changed_;
  OnBlocked on_blocked_;
  bool stopped_ = false;
  engine::GuardedThread thread_;
};

/// Fills in where the snapshot of a run's graph was taken.
void describe_run(profiling::Snapshot& snapshot, engine::StepKind step,
                  const engine::DeviceFacts& device);

class ReplayGuard {
 public:
  ReplayGuard(FrameSender& sender, profiling::LiveBoard& board);
  ~ReplayGuard();

  /// For one run; null if nothing is launched on a device. Creates the probe before anything can
  /// hang.
  engine::Result<std::unique_ptr<engine::ReplayWatch>> watch(Backends& backends,
                                                             const engine::BackendSlot& slot,
                                                             std::uint64_t id,
                                                             const engine::RunRequest& request);

 private:
  FrameSender& sender_;
  profiling::LiveBoard& board_;
  std::unique_ptr<profiling::Probe> probe_;  // created by the first run on a device
  LaunchGuard launches_;
};

}  // namespace app
