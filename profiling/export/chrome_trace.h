// Chrome trace JSON for Perfetto and chrome://tracing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/model/error.h"
#include "profiling/session/session_file.h"
#include "profiling/trace/statistics.h"

namespace profiling {

/// Which part of a session to write, as a trace or as a table of records.
struct TraceChoice {
  std::optional<std::size_t> run{};  // index; none = all
  /// Records that start inside, relative to the first iteration of their run.
  TimeRange range = kAllTime;
};

/// `path` in the format of export_csv()'s records.csv, for the selected runs and range.
engine::Status export_records_csv(const Session& session, const std::string& path,
                                  const TraceChoice& choice = {});
/// Writes `path` (replaced atomically). Times in microseconds as the format requires, nanoseconds
/// kept as decimals. Each run is a process with one track per stream or thread (several if its
/// records overlap), one for its iterations and one for its graph's replays; records that name an
/// expert appear again in a process for experts; power, clocks and temperature are counters if the
/// run has them. Every record has its stage, layer, expert, iteration and graph node as arguments.
/// InvalidArgument: no such run, or a session without runs.
engine::Status export_chrome_trace(const Session& session, const std::string& path,
                                   const TraceChoice& choice = {});
/// One CSV per table of profiling/document (run_tables(), and those of visits) in `folder`
/// (created if missing); if non-empty, sweeps.csv, comparisons.csv, recipe_steps.csv, memory.csv,
/// findings.csv, snapshot_nodes.csv.
engine::Status export_csv(const Session& session, const std::string& folder);

}  // namespace profiling
