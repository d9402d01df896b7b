// What must be true of a run for the window to index into it blindly. One set of rules for both
// directions: the writer refuses what the reader would refuse, so no recording is lost unnoticed.
#pragma once

#include <vector>

#include "profiling/session/session_file.h"

namespace profiling {

/// The error names the field, the value and the limit.
engine::Status check_run(const RecordedRun& run);

/// The same of notes alone, which may change after their run was written.
engine::Status check_time_notes(const std::vector<TimeNote>& notes);

}  // namespace profiling
