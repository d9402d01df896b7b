// A run's result as a person reads it on a terminal.
#pragma once

#include "profiling/session/session_file.h"

namespace app::cli {

void print_summary(const profiling::RecordedRun& run);

}  // namespace app::cli
