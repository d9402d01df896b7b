// How long the engine thread has been inside a launch call. The call may never return, so another
// thread, the pulse, polls it. Thread-safe.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>

#include "engine/observe/replay_watch.h"

namespace profiling {

/// A launch call that has not returned.
struct BlockedLaunch {
  engine::Launching launch;
  double waited_seconds = 0.0;
  std::int64_t thread = 0;  // as in /proc/self/task
};

class LaunchClock {
 public:
  using Clock = std::chrono::steady_clock;

  /// On the engine thread, around the call.
  void begins(const engine::Launching& launch) {
    const std::lock_guard lock(mutex_);
    launch_ = launch;
    thread_ = ::gettid();
    since_ = Clock::now();
    inside_ = true;
    reported_ = false;
  }
  void ends() {
    const std::lock_guard lock(mutex_);
    inside_ = false;
  }

  /// On another thread: `report` is called once for a launch that has passed its deadline. During
  /// the call the engine thread cannot leave the launch, so the run's objects still exist.
  void report_if_late(const std::function<void(const BlockedLaunch&)>& report) {
    const std::lock_guard lock(mutex_);
    if (!inside_ || reported_) return;
    const double waited = std::chrono::duration<double>(Clock::now() - since_).count();
    if (waited <= launch_.deadline_seconds) return;  // an infinite one is never passed
    reported_ = true;
    report({.launch = launch_, .waited_seconds = waited, .thread = thread_});
  }

 private:
  std::mutex mutex_;
  engine::Launching launch_;
  Clock::time_point since_;
  std::int64_t thread_ = 0;
  bool inside_ = false;
  bool reported_ = false;
};

}  // namespace profiling
