// The tables of runs, since version 1 of the schema: request and device, times, records, statistics
// of the operands, and the graph. Rows of a run carry (run_id, position) as their key, so that one
// pass in key order reads them and a gap or a repeat is seen at once.
#pragma once

#include "profiling/session/schema.h"

namespace profiling {

inline constexpr TableDefinition kRunTables[] = {
    {"notes", R"(CREATE TABLE notes(
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID)"},
    {"stages", R"(CREATE TABLE stages(
  stage INTEGER PRIMARY KEY,
  name TEXT NOT NULL
) STRICT)"},
    {"activity_kinds", R"(CREATE TABLE activity_kinds(
  kind INTEGER PRIMARY KEY,
  name TEXT NOT NULL
) STRICT)"},
    {"runs", R"(CREATE TABLE runs(
  run_id INTEGER PRIMARY KEY,
  request_id INTEGER NOT NULL,
  wall_clock_ms INTEGER NOT NULL,
  request_json TEXT NOT NULL,
  effective_json TEXT NOT NULL,
  device_name TEXT NOT NULL,
  device_driver TEXT NOT NULL,
  compute_capability TEXT NOT NULL,
  cublaslt_version TEXT NOT NULL,
  cublaslt_path TEXT NOT NULL,
  blas TEXT NOT NULL,
  multiprocessors INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  iteration_method TEXT NOT NULL,
  activity_method TEXT NOT NULL,
  dropped_records INTEGER NOT NULL,
  flop REAL NOT NULL,
  wall_ns INTEGER NOT NULL,
  record_count INTEGER NOT NULL
) STRICT)"},
    {"deviations", R"(CREATE TABLE deviations(
  run_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  field TEXT NOT NULL,
  requested TEXT NOT NULL,
  effective TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY(run_id, position)
) STRICT, WITHOUT ROWID)"},
    {"splits", R"(CREATE TABLE splits(
  run_id INTEGER NOT NULL,
  expert INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY(run_id, expert)
) STRICT, WITHOUT ROWID)"},
    {"experts", R"(CREATE TABLE experts(
  run_id INTEGER NOT NULL,
  expert INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  snr_db REAL,
  max_abs_error REAL,
  reference_rms REAL,
  saturated INTEGER NOT NULL,
  underflowed INTEGER NOT NULL,
  x_snr_db REAL,
  PRIMARY KEY(run_id, expert)
) STRICT, WITHOUT ROWID)"},
    {"iterations", R"(CREATE TABLE iterations(
  run_id INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  start_ns INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL,
  PRIMARY KEY(run_id, iteration)
) STRICT, WITHOUT ROWID)"},
    {"replay_checks", R"(CREATE TABLE replay_checks(
  run_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  replay INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  wrong_count INTEGER NOT NULL,
  PRIMARY KEY(run_id, position)
) STRICT, WITHOUT ROWID)"},
    {"replay_wrong_experts", R"(CREATE TABLE replay_wrong_experts(
  run_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  expert INTEGER NOT NULL,
  PRIMARY KEY(run_id, position, expert)
) STRICT, WITHOUT ROWID)"},
    {"operands", R"(CREATE TABLE operands(
  run_id INTEGER NOT NULL,
  operand TEXT NOT NULL,
  elements INTEGER NOT NULL,
  saturated INTEGER NOT NULL,
  underflowed INTEGER NOT NULL,
  snr_db REAL,
  PRIMARY KEY(run_id, operand)
) STRICT, WITHOUT ROWID)"},
    {"histograms", R"(CREATE TABLE histograms(
  run_id INTEGER NOT NULL,
  operand TEXT NOT NULL,
  kind TEXT NOT NULL,
  first_bin INTEGER NOT NULL,
  bin_count INTEGER NOT NULL,
  zeros INTEGER NOT NULL,
  infinities INTEGER NOT NULL,
  nans INTEGER NOT NULL,
  PRIMARY KEY(run_id, operand, kind)
) STRICT, WITHOUT ROWID)"},
    {"histogram_bins", R"(CREATE TABLE histogram_bins(
  run_id INTEGER NOT NULL,
  operand TEXT NOT NULL,
  kind TEXT NOT NULL,
  bin INTEGER NOT NULL,
  lower_edge REAL NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY(run_id, operand, kind, bin)
) STRICT, WITHOUT ROWID)"},
    {"scale_maps", R"(CREATE TABLE scale_maps(
  run_id INTEGER NOT NULL,
  operand TEXT NOT NULL,
  block_rows INTEGER NOT NULL,
  block_columns INTEGER NOT NULL,
  source_rows INTEGER NOT NULL,
  source_columns INTEGER NOT NULL,
  "rows" INTEGER NOT NULL,
  "columns" INTEGER NOT NULL,
  mean BLOB NOT NULL,
  maximum BLOB NOT NULL,
  PRIMARY KEY(run_id, operand)
) STRICT, WITHOUT ROWID)"},
    {"scale_map_experts", R"(CREATE TABLE scale_map_experts(
  run_id INTEGER NOT NULL,
  operand TEXT NOT NULL,
  position INTEGER NOT NULL,
  first_row INTEGER NOT NULL,
  PRIMARY KEY(run_id, operand, position)
) STRICT, WITHOUT ROWID)"},
    {"names", R"(CREATE TABLE names(
  run_id INTEGER NOT NULL,
  name_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY(run_id, name_id)
) STRICT, WITHOUT ROWID)"},
    {"records", R"(CREATE TABLE records(
  record_id INTEGER PRIMARY KEY,
  run_id INTEGER NOT NULL,
  start_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL,
  node_id INTEGER NOT NULL,
  name_id INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  expert INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  stage INTEGER NOT NULL
) STRICT)"},
    {"graph_nodes", R"(CREATE TABLE graph_nodes(
  run_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  node_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  stage INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  PRIMARY KEY(run_id, position)
) STRICT, WITHOUT ROWID)"},
    {"graph_edges", R"(CREATE TABLE graph_edges(
  run_id INTEGER NOT NULL,
  node_position INTEGER NOT NULL,
  position INTEGER NOT NULL,
  depends_on INTEGER NOT NULL,
  PRIMARY KEY(run_id, node_position, position)
) STRICT, WITHOUT ROWID)"},
};

}  // namespace profiling
