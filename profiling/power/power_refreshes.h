// How often the device's power sensor takes a new value. NVML answers every reading, but the
// sensor behind it may refresh five times more slowly: readings in between repeat its value, so the
// power of anything shorter than a refresh is unknown. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "profiling/power/power_summary.h"

namespace profiling {

struct PowerRefreshes {
  std::size_t count = 0;         // values that differ from the one before
  std::int64_t interval_ns = 0;  // median from one to the next; 0 = too few to tell
  bool repeats = false;          // readings come more often than refreshes
};

/// Of ascending samples. A refresh that finds the same value is not seen; the median of the
/// intervals hardly depends on those.
PowerRefreshes power_refreshes(std::span<const PowerSample> samples);

/// "about every 100 ms"; empty where that is unknown, or where every reading finds a new value.
std::string refresh_interval_text(const PowerRefreshes& refreshes);

}  // namespace profiling
