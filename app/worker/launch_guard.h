// Checks every 50 ms whether the engine thread is stuck inside a launch call, from a thread that
// makes no CUDA call. The pulse continues meanwhile.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "profiling/hazards/model/launch_clock.h"

namespace app {

class LaunchGuard {
 public:
  using Told = std::function<void(const profiling::BlockedLaunch&)>;

  LaunchGuard() = default;
  ~LaunchGuard();
  LaunchGuard(const LaunchGuard&) = delete;
  LaunchGuard& operator=(const LaunchGuard&) = delete;

  /// For the launching thread.
  profiling::LaunchClock& clock() { return clock_; }
  /// Watches launches from now on; `told` need not return. The first call starts the thread.
  void watch(Told told);

 private:
  void look_until_stopped();

  profiling::LaunchClock clock_;
  std::mutex mutex_;
  std::condition_variable stopped_changed_;
  Told told_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace app
