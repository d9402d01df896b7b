// Prints a run's result for people at a terminal: what was not measured is left out.
#pragma once

#include "profiling/session/session_file.h"

namespace app::cli {

void print_summary(const profiling::RecordedRun& run);

}  // namespace app::cli
