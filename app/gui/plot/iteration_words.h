// The words for iterations, under the names by which plots and cards use them.
#pragma once

#include <cstdint>
#include <string>

#include "profiling/document/iteration_words.h"
#include "profiling/power/power_summary.h"

namespace app {

using profiling::first_iteration;
using profiling::iteration_noun;
using profiling::shown_iteration;

/// Of the band at the foot of a plot, under the time in which something slowed the clock.
inline std::string throttled_words(std::uint64_t reasons) {
  return "throttled: " + profiling::clock_reason_names(reasons);
}

}  // namespace app
