// Tables of the graph doctor.
#pragma once

#include "profiling/document/table.h"
#include "profiling/hazards/model/doctor_report.h"
#include "profiling/session/session_file.h"

namespace profiling {

/// One row per finding of a visit, for files.
Table findings_table(const RecordedVisit& visit);
/// One row per node of the captured graphs, for files.
Table snapshot_nodes_table(const Snapshot& snapshot);

}  // namespace profiling
