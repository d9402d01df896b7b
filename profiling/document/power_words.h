// A run's readings of clock and power in words.
#pragma once

#include <span>
#include <string>

#include "engine/model/run_result.h"
#include "profiling/power/power_refreshes.h"
#include "profiling/power/power_summary.h"

namespace profiling {

/// "1 830 MHz (lowest 1 755), 285 W (highest 734), 45 C, 58 readings in the timed iterations; whole
/// run: 179 readings, highest 875 W", and how often the power sensor refreshes. `samples` are
/// not empty and have the iterations' time axis.
std::string power_text(std::span<const PowerSample> samples,
                       std::span<const engine::Iteration> iterations);

/// "The power sensor refreshes about every 100 ms and holds its value in between: the power of a
/// shorter step is unknown." Empty where the readings do not repeat values.
std::string refresh_sentence(const PowerRefreshes& refreshes);

}  // namespace profiling
