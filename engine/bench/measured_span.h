// Shared by both benchmarks: the rounds in which rows are interleaved, and when a row's launches
// ran, so that clock and power readings can be attributed to it.
#pragma once

#include <chrono>
#include <cstdint>

#include "engine/model/error.h"

namespace engine {

inline constexpr int kWarmRounds = 1;
inline constexpr int kFewestRounds = 5;
inline constexpr int kMostRounds = 1000;

inline Error cancelled() { return {ErrorCode::Cancelled, "cancelled"}; }

/// std::chrono::steady_clock nanoseconds.
struct MeasuredSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

inline std::int64_t span_now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace engine
