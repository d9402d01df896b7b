// Checks every 50 ms whether the engine thread is stuck inside a launch call, from a thread that
// makes no CUDA call. The pulse continues meanwhile.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "engine/model/guarded_thread.h"
#include "profiling/hazards/model/launch_clock.h"

namespace app {

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

}  // namespace app
