// The newest ping, from the thread that reads commands to the one that pulses: the reader never
// waits for the pipe to the window.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "app/protocol/worker_link.h"

namespace app {

class NewestPing {
 public:
  void arrived(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    number_ = number;
    at_ = Clock::now();
  }
  PingEcho echo() const {
    const std::lock_guard lock(mutex_);
    if (number_ == 0) return {};
    return {.number = number_,
            .held_seconds = std::chrono::duration<double>(Clock::now() - at_).count()};
  }

 private:
  using Clock = std::chrono::steady_clock;
  mutable std::mutex mutex_;
  std::uint64_t number_ = 0;
  Clock::time_point at_;
};

}  // namespace app
