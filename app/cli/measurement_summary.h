// What a run measured besides its iterations, for people.
#pragma once

#include "profiling/session/session_file.h"

namespace app::cli {

/// Prints lines for observer, ceilings with every product's share of them, clock and power, and the
/// experts' times by each method. Prints nothing for what was not measured.
void print_measurements(const profiling::RecordedRun& run);

}  // namespace app::cli
