#include "profiling/power/power_summary.h"

#include <algorithm>
#include <array>
#include <vector>

namespace profiling {

PowerSummary summarize_power(std::span<const PowerSample> samples,
                             std::span<const TimeSpan> spans) {
  PowerSummary summary;
  std::vector<int> clocks;
  double power_sum = 0;
  int powers = 0;
  for (const PowerSample& sample : samples) {
    const bool inside = std::any_of(spans.begin(), spans.end(), [&](const TimeSpan& span) {
      return span.holds(sample.time_ns);
    });
    if (!inside) continue;
    ++summary.samples;
    if (sample.sm_clock_mhz >= 0) clocks.push_back(sample.sm_clock_mhz);
    if (sample.power_w >= 0) {
      power_sum += sample.power_w;
      ++powers;
      summary.power_max_w = std::max(summary.power_max_w, sample.power_w);
    }
    summary.temperature_max_c = std::max(summary.temperature_max_c, sample.temperature_c);
    summary.clock_reasons |= sample.clock_reasons;
  }
  if (powers > 0) summary.power_w = power_sum / powers;
  if (!clocks.empty()) {
    std::sort(clocks.begin(), clocks.end());
    const std::size_t half = clocks.size() / 2;
    summary.sm_clock_mhz = (clocks[(clocks.size() - 1) / 2] + clocks[half]) / 2.0;
    summary.sm_clock_min_mhz = clocks.front();
  }
  return summary;
}

std::string clock_reason_names(std::uint64_t reasons) {
  constexpr std::array<const char*, 9> kNames = {"idle",
                                                 "clock setting",
                                                 "power cap",
                                                 "hardware slowdown",
                                                 "sync boost",
                                                 "thermal slowdown",
                                                 "hardware thermal slowdown",
                                                 "hardware power brake",
                                                 "display clock"};
  std::string names;
  for (std::size_t bit = 0; bit < kNames.size(); ++bit) {
    if ((reasons >> bit & 1U) == 0) continue;
    if (!names.empty()) names += ", ";
    names += kNames[bit];
  }
  return names;
}

}  // namespace profiling
