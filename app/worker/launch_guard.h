// Looks every 50 ms whether the engine thread is stuck inside a launch call, from a thread of its
// own that makes no CUDA call. The pulse goes on meanwhile.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "engine/model/guarded_thread.h"
#include "profiling/hazards/model/launch_clock.h"

namespace app {

class LaunchGuard {
 public:
  using Told = std::function<void(const profiling::BlockedLaunch&)>;

  LaunchGuard() = default;
  ~LaunchGuard();
  LaunchGuard(const LaunchGuard&) = delete;
  LaunchGuard& operator=(const LaunchGuard&) = delete;

  /// For whoever launches.
  profiling::LaunchClock& clock() { return clock_; }
  /// Of launches from now on; `told` need not return. Starts the thread with the first call.
  void watch(Told told);

 private:
  void look_until_stopped();

  profiling::LaunchClock clock_;
  std::mutex mutex_;
  std::condition_variable stopped_changed_;
  Told told_;
  bool stopped_ = false;
  engine::GuardedThread thread_;
};

}  // namespace app
