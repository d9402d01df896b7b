// Prints a run's result for people at a terminal.
#pragma once

#include "profiling/session/session_file.h"

namespace app::cli {

void print_summary(const profiling::RecordedRun& run);

}  // namespace app::cli
