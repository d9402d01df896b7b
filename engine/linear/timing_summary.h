// Quantiles of a handful of durations, as every measurement beside the iterations reports them.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace engine {

/// Fills samples, median, p5 and p95 of a timing; linear interpolation between order statistics.
/// Leaves a timing without durations as it is.
template <class Timing>
void summarize_into(Timing& timing, std::vector<double> durations_ns) {
  if (durations_ns.empty()) return;
  std::ranges::sort(durations_ns);
  const auto quantile = [&](double q) {
    const double at = q * static_cast<double>(durations_ns.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, durations_ns.size() - 1);
    return std::lerp(durations_ns[below], durations_ns[above], at - std::floor(at));
  };
  timing.samples = static_cast<int>(durations_ns.size());
  timing.median_ns = quantile(0.5);
  timing.p5_ns = quantile(0.05);
  timing.p95_ns = quantile(0.95);
}

}  // namespace engine
