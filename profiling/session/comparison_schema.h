// The tables of comparisons of recipes on one operand, since version 2 of the schema.
#pragma once

#include "profiling/session/schema.h"

namespace profiling {

inline constexpr TableDefinition kComparisonTables[] = {
    {"comparisons", R"(CREATE TABLE comparisons(
  comparison_id INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL,
  wall_clock_ms INTEGER NOT NULL,
  request_json TEXT NOT NULL,
  operand TEXT NOT NULL,
  sample_row INTEGER NOT NULL,
  sample_column INTEGER NOT NULL,
  timed_launches INTEGER NOT NULL,
  device_name TEXT NOT NULL,
  device_driver TEXT NOT NULL,
  compute_capability TEXT NOT NULL,
  cublaslt_version TEXT NOT NULL,
  cublaslt_path TEXT NOT NULL,
  blas TEXT NOT NULL,
  multiprocessors INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  copy_bytes INTEGER NOT NULL,
  wall_ns INTEGER NOT NULL
) STRICT)"},
    {"comparison_recipes", R"(CREATE TABLE comparison_recipes(
  comparison_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  scaling TEXT NOT NULL,
  activation_format TEXT NOT NULL,
  pow2_scales INTEGER NOT NULL,
  amax_epsilon REAL NOT NULL,
  split_accumulator INTEGER NOT NULL,
  history_length INTEGER NOT NULL,
  amax_algorithm TEXT NOT NULL,
  margin INTEGER NOT NULL,
  square_weight_blocks INTEGER NOT NULL,
  hadamard INTEGER NOT NULL,
  stochastic_rounding INTEGER NOT NULL,
  PRIMARY KEY(comparison_id, position)
) STRICT, WITHOUT ROWID)"},
    {"comparison_splits", R"(CREATE TABLE comparison_splits(
  comparison_id INTEGER NOT NULL,
  expert INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY(comparison_id, expert)
) STRICT, WITHOUT ROWID)"},
    {"comparison_copies", R"(CREATE TABLE comparison_copies(
  comparison_id INTEGER NOT NULL,
  launch INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL,
  PRIMARY KEY(comparison_id, launch)
) STRICT, WITHOUT ROWID)"},
    {"comparison_reports", R"(CREATE TABLE comparison_reports(
  comparison_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  scaling TEXT NOT NULL,
  activation_format TEXT NOT NULL,
  pow2_scales INTEGER NOT NULL,
  amax_epsilon REAL NOT NULL,
  split_accumulator INTEGER NOT NULL,
  history_length INTEGER NOT NULL,
  amax_algorithm TEXT NOT NULL,
  margin INTEGER NOT NULL,
  square_weight_blocks INTEGER NOT NULL,
  hadamard INTEGER NOT NULL,
  stochastic_rounding INTEGER NOT NULL,
  direction TEXT NOT NULL,
  refused TEXT NOT NULL,
  elements INTEGER NOT NULL,
  saturated INTEGER NOT NULL,
  underflowed INTEGER NOT NULL,
  snr_db REAL,
  max_relative_error REAL,
  max_ulp INTEGER NOT NULL,
  code_bytes INTEGER NOT NULL,
  scale_bytes INTEGER NOT NULL,
  moved_bytes INTEGER NOT NULL,
  code_kinds INTEGER NOT NULL,
  time_method TEXT NOT NULL,
  PRIMARY KEY(comparison_id, position)
) STRICT, WITHOUT ROWID)"},
    {"comparison_times", R"(CREATE TABLE comparison_times(
  comparison_id INTEGER NOT NULL,
  report INTEGER NOT NULL,
  launch INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL,
  PRIMARY KEY(comparison_id, report, launch)
) STRICT, WITHOUT ROWID)"},
    {"comparison_codes", R"(CREATE TABLE comparison_codes(
  comparison_id INTEGER NOT NULL,
  report INTEGER NOT NULL,
  code INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY(comparison_id, report, code)
) STRICT, WITHOUT ROWID)"},
    {"comparison_histograms", R"(CREATE TABLE comparison_histograms(
  comparison_id INTEGER NOT NULL,
  report INTEGER NOT NULL,
  kind TEXT NOT NULL,
  first_bin INTEGER NOT NULL,
  bin_count INTEGER NOT NULL,
  zeros INTEGER NOT NULL,
  infinities INTEGER NOT NULL,
  nans INTEGER NOT NULL,
  PRIMARY KEY(comparison_id, report, kind)
) STRICT, WITHOUT ROWID)"},
    {"comparison_histogram_bins", R"(CREATE TABLE comparison_histogram_bins(
  comparison_id INTEGER NOT NULL,
  report INTEGER NOT NULL,
  kind TEXT NOT NULL,
  bin INTEGER NOT NULL,
  lower_edge REAL NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY(comparison_id, report, kind, bin)
) STRICT, WITHOUT ROWID)"},
    {"comparison_scale_maps", R"(CREATE TABLE comparison_scale_maps(
  comparison_id INTEGER NOT NULL,
  report INTEGER NOT NULL,
  block_rows INTEGER NOT NULL,
  block_columns INTEGER NOT NULL,
  source_rows INTEGER NOT NULL,
  source_columns INTEGER NOT NULL,
  "rows" INTEGER NOT NULL,
  "columns" INTEGER NOT NULL,
  mean BLOB NOT NULL,
  maximum BLOB NOT NULL,
  PRIMARY KEY(comparison_id, report)
) STRICT, WITHOUT ROWID)"},
    {"comparison_scale_map_experts", R"(CREATE TABLE comparison_scale_map_experts(
  comparison_id INTEGER NOT NULL,
  report INTEGER NOT NULL,
  position INTEGER NOT NULL,
  first_row INTEGER NOT NULL,
  PRIMARY KEY(comparison_id, report, position)
) STRICT, WITHOUT ROWID)"},
    {"comparison_samples", R"(CREATE TABLE comparison_samples(
  comparison_id INTEGER NOT NULL,
  report INTEGER NOT NULL,
  first_row INTEGER NOT NULL,
  first_column INTEGER NOT NULL,
  "rows" INTEGER NOT NULL,
  "columns" INTEGER NOT NULL,
  original BLOB NOT NULL,
  codes BLOB NOT NULL,
  scale_inv BLOB NOT NULL,
  decoded BLOB NOT NULL,
  PRIMARY KEY(comparison_id, report)
) STRICT, WITHOUT ROWID)"},
};

}  // namespace profiling
