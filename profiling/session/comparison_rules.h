// What must be true of a comparison for the window to index into it blindly; as run_rules.h for
// runs.
#pragma once

#include "profiling/session/session_file.h"

namespace profiling {

/// The error names the field, the value and the limit.
engine::Status check_comparison(const RecordedComparison& recorded);

}  // namespace profiling
