// Chrome trace JSON that Perfetto and chrome://tracing open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "engine/model/error.h"
#include "profiling/session/session_file.h"
#include "profiling/trace/kernel_durations.h"

namespace profiling {

/// What of a session to write, as a trace or as a table of records.
struct TraceChoice {
  std::optional<std::size_t> run{};  // index; none = all
  TimeRange range{std::numeric_limits<std::int64_t>::min(),
                  std::numeric_limits<std::int64_t>::max()};  // what starts inside, since the first
                                                              // iteration of its run
};

/// `path` as records.csv of export_csv(), of the runs and the range chosen.
engine::Status export_records_csv(const Session& session, const std::string& path,
                                  const TraceChoice& choice = {});
/// Writes `path` (replaced atomically). Times in microseconds as the format wants, nanoseconds kept
/// as decimals. Each run is a process with a track for every stream or thread (several where its
/// records overlap), one of its iterations and one of its graph's replays; records that name an
/// expert stand a second time in a process of experts; power, clocks and temperature are counters
/// where the run has them. Every record has its stage, layer, expert, iteration and graph node as
/// arguments. InvalidArgument: no such run, or a session without one.
engine::Status export_chrome_trace(const Session& session, const std::string& path,
                                   const TraceChoice& choice = {});
/// One CSV a table: runs.csv, records.csv, experts.csv and those of run_csv.h in `folder` (made if
/// missing); where there are any, comparisons.csv, memory.csv, findings.csv, snapshot_nodes.csv.
engine::Status export_csv(const Session& session, const std::string& folder);

}  // namespace profiling
