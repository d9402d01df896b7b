// Chrome trace JSON that Perfetto and chrome://tracing open: one process a run, one track a lane.
#pragma once

#include <string>

#include "engine/model/error.h"
#include "profiling/session/session_file.h"

namespace profiling {

/// Writes `path` (replaced atomically). Times in microseconds as the format wants, nanoseconds kept
/// as decimals.
engine::Status export_chrome_trace(const Session& session, const std::string& path);
/// One CSV a table: runs.csv, records.csv, experts.csv in `folder` (made if missing); where there
/// are any, comparisons.csv, findings.csv, snapshot_nodes.csv.
engine::Status export_csv(const Session& session, const std::string& folder);

}  // namespace profiling
