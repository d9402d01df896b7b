// The sweeps of a recording: their points with the frontier among them, and their table for files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profiling/compare/sweep_points.h"
#include "profiling/document/table.h"
#include "profiling/session/session_file.h"

namespace profiling {

struct RecordedSweep {
  std::int64_t id = 0;             // RunGroup::id: Unix time in ms of its start
  std::vector<std::size_t> runs;   // of each point: an index into the runs
  std::vector<SweepPoint> points;  // in the order of measuring; by each one's worst expert
};

/// In order of their first run. A single run, all that a selection may have left of a sweep, is
/// none. What was refused or failed is not in a recording.
std::vector<RecordedSweep> sweeps_of(std::span<const RecordedRun* const> runs);

/// One row per point of all sweeps: the number of its sweep, that of its run, and the columns of
/// sweep_table(). No rows without sweeps.
Table sweeps_table(const std::vector<RecordedSweep>& sweeps);

}  // namespace profiling
