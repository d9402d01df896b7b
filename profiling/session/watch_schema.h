// The tables of version 7 of the schema: how the replays of a run were watched, and what the
// deadline of a stalled replay follows.
#pragma once

#include "profiling/session/schema.h"

namespace profiling {

inline constexpr TableDefinition kReplayWatchTables[] = {
    {"replay_watches", R"(CREATE TABLE replay_watches(
  run_id INTEGER PRIMARY KEY,
  replays INTEGER NOT NULL,
  p99_us REAL NOT NULL,
  deadline_seconds REAL NOT NULL,
  markers INTEGER NOT NULL
) STRICT)"},
    {"stall_percentiles", R"(CREATE TABLE stall_percentiles(
  visit_id INTEGER NOT NULL,
  experiment INTEGER NOT NULL,
  p99_seconds REAL NOT NULL,
  PRIMARY KEY(visit_id, experiment)
) STRICT, WITHOUT ROWID)"},
};

inline constexpr std::int64_t kMaxWatchedReplays = 1'000'000;  // of one run

}  // namespace profiling
