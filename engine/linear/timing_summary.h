// Quantiles of a handful of durations, as every measurement beside the iterations reports them.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/model/quantiles.h"

namespace engine {

/// Fills samples, median, p5 and p95 of a timing; linear interpolation between order statistics.
/// Leaves a timing without durations as it is.
template <class Timing>
void summarize_into(Timing& timing, std::vector<double> durations_ns) {
  if (durations_ns.empty()) return;
  std::ranges::sort(durations_ns);
  timing.samples = static_cast<int>(durations_ns.size());
  timing.median_ns = quantile(durations_ns, 0.5);
  timing.p5_ns = quantile(durations_ns, 0.05);
  timing.p95_ns = quantile(durations_ns, 0.95);
}

}  // namespace engine
