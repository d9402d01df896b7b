// What trying the algorithms of a product has gained, in one line: in the window, on the page and
// on the command line.
#pragma once

#include <string>

#include "engine/model/run_result.h"

namespace profiling {

/// What these times are, under the lines.
inline constexpr const char* kAlgorithmTrial =
    "Trial before the iterations: median of lone launches between two events, at other clocks and "
    "caches than in the step. The kernels table has the times in the step.";

/// "412.0 us → 398.1 us, 3.4 % less (number 3 of 8)", as measured before the iterations.
std::string algorithm_text(const engine::AlgorithmChoice& choice);

}  // namespace profiling
