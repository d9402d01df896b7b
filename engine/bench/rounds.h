// Shared by both benchmarks: the rounds in which everything that is compared takes its turns, what
// a row says of its times, and when its launches ran, so that clock and power readings can be
// attributed to it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "engine/model/clock.h"
#include "engine/model/error.h"
#include "engine/model/measurement.h"
#include "engine/observe/step_observer.h"

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

/// Share of one shape in the progress of the whole benchmark.
struct ProgressShare {
  double begin = 0;
  double share = 1;
};

/// Calls run_round(number) until `seconds` have passed since round 0, kFewestRounds times at least;
/// earlier rounds, whose numbers are negative, only warm up.
template <class Round>
Status run_rounds(double seconds, RunProgress& progress, ProgressShare of, Round&& run_round) {
  using Clock = std::chrono::steady_clock;
  const auto limit = std::chrono::duration<double>(seconds);
  Clock::time_point start = Clock::now();
  for (int round = -kWarmRounds; round < kMostRounds; ++round) {
    if (round == 0) start = Clock::now();
    const double used = (Clock::now() - start) / limit;
    if (round >= kFewestRounds && used >= 1) break;
    progress.fraction = of.begin + of.share * std::clamp(used, 0.0, 1.0);
    ENGINE_TRY(run_round(round));
  }
  return {};
}

/// The times of a BenchRow or a StepBenchRow.
template <class Row>
void set_times(Row& row, std::vector<double> times_us) {
  std::ranges::sort(times_us);
  row.median_us = quantile(times_us, 0.5);
  row.p5_us = quantile(times_us, 0.05);
  row.p95_us = quantile(times_us, 0.95);
  row.samples = static_cast<int>(times_us.size());
}

}  // namespace engine
