// Shared by both benchmarks: the rounds in which rows are interleaved, and when a row's launches
// ran, so that clock and power readings can be attributed to it.
#pragma once

#include <cstdint>

#include "engine/model/clock.h"
#include "engine/model/error.h"

namespace engine {

inline constexpr int kWarmRounds = 1;
inline constexpr int kFewestRounds = 5;
inline constexpr int kMostRounds = 1000;

inline Error cancelled() { return {ErrorCode::Cancelled, "cancelled"}; }

/// From engine::steady_ns().
struct MeasuredSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

}  // namespace engine
