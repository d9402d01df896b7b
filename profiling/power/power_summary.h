// Readings of a device's clock and power, and their summary over intervals. Plain values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/fields.h"

namespace profiling {

/// The device's readings at one moment; -1 = not reported.
struct PowerSample {
  std::int64_t time_ns = 0;  // std::chrono::steady_clock
  int sm_clock_mhz = -1;
  int memory_clock_mhz = -1;
  double power_w = -1;
  int temperature_c = -1;
  std::uint64_t clock_reasons = 0;  // NVML's bits, see clock_reason_names()
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&PowerSample::time_ns, &PowerSample::sm_clock_mhz,
                          &PowerSample::memory_clock_mhz, &PowerSample::power_w,
                          &PowerSample::temperature_c, &PowerSample::clock_reasons>();
  }
};

/// NVML's bits for a clock below the requested one: power, heat, brake, sync boost. Idle, and a
/// clock set by the user or by a display, do not count.
inline constexpr std::uint64_t kThrottleReasons = 0xFC;

/// "power cap, hardware slowdown"; idle and user-set clocks are named too. Empty for 0.
std::string clock_reason_names(std::uint64_t reasons);

/// Summary of the samples in some intervals; -1 = in no sample.
struct PowerSummary {
  int samples = 0;
  double sm_clock_mhz = -1;  // median
  int sm_clock_min_mhz = -1;
  double power_w = -1;  // mean
  double power_max_w = -1;
  int temperature_max_c = -1;
  std::uint64_t clock_reasons = 0;  // seen in any sample
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&PowerSummary::samples, &PowerSummary::sm_clock_mhz,
                          &PowerSummary::sm_clock_min_mhz, &PowerSummary::power_w,
                          &PowerSummary::power_max_w, &PowerSummary::temperature_max_c,
                          &PowerSummary::clock_reasons>();
  }
};

struct TimeSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  bool holds(std::int64_t time_ns) const { return time_ns >= begin_ns && time_ns <= end_ns; }
};

/// Summarizes the samples inside any of the spans.
PowerSummary summarize_power(std::span<const PowerSample> samples, std::span<const TimeSpan> spans);

// The readings of one run on the run's own time axis. Plain values.

struct PowerTrace {
  std::string method;                // how power was read; empty without samples
  std::string missing;               // why there are no samples; empty if there are any
  std::vector<PowerSample> samples;  // time_ns since the first timed iteration, ascending
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&PowerTrace::method>(), engine::field<&PowerTrace::missing>(),
                      engine::field<&PowerTrace::samples>({.most = 1'000'000, .columns = true})};
  }
};

}  // namespace profiling
