// The graph doctor's results as CSV.
#pragma once

#include <filesystem>

#include "engine/model/error.h"
#include "profiling/session/session_file.h"

namespace profiling {

/// findings.csv if there are visits, snapshot_nodes.csv if there are captured graphs.
engine::Status export_doctor_csv(const Session& session, const std::filesystem::path& folder);

}  // namespace profiling
