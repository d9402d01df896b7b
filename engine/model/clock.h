// The host's clock: times of spans, rounds and whole orders are comparable with each other.
#pragma once

#include <chrono>
#include <cstdint>

namespace engine {

/// std::chrono::steady_clock in nanoseconds.
inline std::int64_t steady_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace engine
