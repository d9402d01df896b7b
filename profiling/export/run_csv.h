// What the window derives from the records of a run, and the run's smaller tables, as CSV.
#pragma once

#include <filesystem>

#include "engine/model/error.h"
#include "profiling/session/session_file.h"

namespace profiling {

/// iterations.csv, kernels.csv, expert_times.csv (per stage), splits.csv, graph_nodes.csv,
/// replay_checks.csv, histograms.csv.
engine::Status export_run_csv(const Session& session, const std::filesystem::path& folder);

}  // namespace profiling
