// The round trip to a worker on another machine, from pings that its pulses echo. Takes the times
// as arguments, so that tests need no clock. Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "app/protocol/worker_link.h"

namespace app {

class RoundTrip {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kInterval{1};

  /// The number of a ping that should be sent now. One that is not echoed is not repeated before
  /// the interval has passed; its own echo no longer counts then.
  std::optional<std::uint64_t> due(Time now) {
    if (number_ > 0 && now - sent_ < kInterval) return std::nullopt;
    sent_ = now;
    return ++number_;
  }

  /// The worker held the ping until its next pulse: that is no part of the trip.
  void echoed(const PingEcho& echo, Time now) {
    if (echo.number != number_ || number_ == measured_) return;
    measured_ = number_;
    seconds_ =
        std::max(0.0, std::chrono::duration<double>(now - sent_).count() - echo.held_seconds);
  }

  std::optional<double> seconds() const { return seconds_; }

 private:
  std::uint64_t number_ = 0;
  std::uint64_t measured_ = 0;
  Time sent_{};
  std::optional<double> seconds_;
};

}  // namespace app
