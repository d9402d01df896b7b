// The tables of version 6 of the schema: what went on beside the work of a run, what the markers of
// a visit cost, and the largest errors of experts in units in the last place.
#pragma once

#include "profiling/session/schema.h"

namespace profiling {

inline constexpr TableDefinition kEventTables[] = {
    {"host_events", R"(CREATE TABLE host_events(
  run_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  kind TEXT NOT NULL,
  name_id INTEGER NOT NULL,
  start_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  stage INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  PRIMARY KEY(run_id, position)
) STRICT, WITHOUT ROWID)"},
    {"memory_events", R"(CREATE TABLE memory_events(
  run_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  operation TEXT NOT NULL,
  time_ns INTEGER NOT NULL,
  address INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  space TEXT NOT NULL,
  stream_ordered INTEGER NOT NULL,
  pool INTEGER NOT NULL,
  pool_bytes INTEGER NOT NULL,
  pool_used INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  stage INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  PRIMARY KEY(run_id, position)
) STRICT, WITHOUT ROWID)"},
    {"marker_costs", R"(CREATE TABLE marker_costs(
  visit_id INTEGER NOT NULL,
  experiment INTEGER NOT NULL,
  samples INTEGER NOT NULL,
  with_us REAL NOT NULL,
  without_us REAL NOT NULL,
  PRIMARY KEY(visit_id, experiment)
) STRICT, WITHOUT ROWID)"},
    {"expert_ulps", R"(CREATE TABLE expert_ulps(
  run_id INTEGER NOT NULL,
  expert INTEGER NOT NULL,
  x_max_ulp REAL NOT NULL,
  PRIMARY KEY(run_id, expert)
) STRICT, WITHOUT ROWID)"},
};

inline constexpr std::array<std::string_view, 5> kMemorySpaceNames = {
    "unknown", "device", "pinned host", "pageable host", "managed"};

}  // namespace profiling
