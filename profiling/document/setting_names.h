// Titles built from the settings of a run, as shown in exported files and on the command line.
#pragma once

#include <string>

#include "engine/model/run_request.h"

namespace profiling {

/// The scaling and the settings that apply to it: "fp8-block e4m3 pow2".
std::string recipe_title(const engine::Recipe& recipe);
/// One line that distinguishes runs: recipe, shape, routing, backend and launch.
std::string run_title(const engine::RunRequest& request);

}  // namespace profiling
