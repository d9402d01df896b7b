// What must be true of a snapshot and of a visit for the window to index into them blindly; both
// the writer and the reader keep to it.
#pragma once

#include "profiling/session/rules.h"
#include "profiling/session/session_file.h"

namespace profiling {

/// check_snapshot() and the limits of doctor_schema.h.
void check_kept_snapshot(const Snapshot& snapshot, Rules& rules);

/// The error names the field, the value and the limit.
engine::Status check_visit(const RecordedVisit& visit);

}  // namespace profiling
