// Table definitions up to version 3; the other headers of schemas have the later ones.
// Every table is STRICT, and rows of a run carry (run_id, position) as their key, so that one pass
// in key order reads them and a gap or a repeat is seen at once.
#include "profiling/session/schema.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>

#include "profiling/session/doctor_schema.h"
#include "profiling/session/event_schema.h"
#include "profiling/session/history_schema.h"
#include "profiling/session/measurement_schema.h"
#include "profiling/session/numerics_schema.h"
#include "profiling/session/watch_schema.h"

namespace profiling {
namespace {

constexpr TableDefinition kTables[] = {
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
    // From here on: since version 2.
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
    // From here on: since version 3.
    {"product_errors", R"(CREATE TABLE product_errors(
  run_id INTEGER NOT NULL,
  product TEXT NOT NULL,
  expert INTEGER NOT NULL,
  snr_db REAL,
  max_abs_error REAL,
  reference_rms REAL,
  PRIMARY KEY(run_id, product, expert)
) STRICT, WITHOUT ROWID)"},
    {"replay_products", R"(CREATE TABLE replay_products(
  run_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  product TEXT NOT NULL,
  PRIMARY KEY(run_id, position)
) STRICT, WITHOUT ROWID)"},
    {"emulations", R"(CREATE TABLE emulations(
  run_id INTEGER PRIMARY KEY,
  reason TEXT NOT NULL
) STRICT)"},
    {"graph_counts", R"(CREATE TABLE graph_counts(
  run_id INTEGER PRIMARY KEY,
  kernels INTEGER NOT NULL,
  memsets INTEGER NOT NULL,
  copies INTEGER NOT NULL,
  allocations INTEGER NOT NULL,
  host_calls INTEGER NOT NULL,
  host_launch_ns INTEGER NOT NULL
) STRICT)"},
    {"algorithms", R"(CREATE TABLE algorithms(
  run_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  product TEXT NOT NULL,
  candidates INTEGER NOT NULL,
  chosen INTEGER NOT NULL,
  first_us REAL NOT NULL,
  chosen_us REAL NOT NULL,
  PRIMARY KEY(run_id, position)
) STRICT, WITHOUT ROWID)"},
};

constexpr auto kAllTables = [] {
  std::array<TableDefinition, std::size(kTables) + std::size(kDoctorTables) +
                                  std::size(kMeasurementTables) + std::size(kNumericsTables) +
                                  std::size(kEventTables) + std::size(kReplayWatchTables) +
                                  std::size(kHistoryTables)>
      all{};
  auto end = std::ranges::copy(kTables, all.begin()).out;
  end = std::ranges::copy(kDoctorTables, end).out;
  end = std::ranges::copy(kMeasurementTables, end).out;
  end = std::ranges::copy(kNumericsTables, end).out;
  end = std::ranges::copy(kEventTables, end).out;
  end = std::ranges::copy(kReplayWatchTables, end).out;
  std::ranges::copy(kHistoryTables, end);
  return all;
}();

/// Where the tables of the next version begin.
constexpr std::size_t kVersion1Tables = 19;
constexpr std::size_t kVersion2Tables = std::size(kTables) - 5;
static_assert(std::string_view(kTables[kVersion1Tables].name) == "comparisons");
static_assert(std::string_view(kTables[kVersion2Tables].name) == "product_errors");

}  // namespace

std::span<const TableDefinition> session_tables(std::int32_t version) {
  const std::span<const TableDefinition> all = kAllTables;
  if (version < kComparisonsVersion) return all.first(kVersion1Tables);
  if (version < kLinearStepVersion) return all.first(kVersion2Tables);
  if (version < kDoctorVersion) return all.first(std::size(kTables));
  if (version < kMeasurementVersion) {
    return all.first(std::size(kTables) + std::size(kDoctorTables));
  }
  const std::size_t event_end =
      std::size(kAllTables) - std::size(kReplayWatchTables) - std::size(kHistoryTables);
  if (version < kEventVersion) return all.first(event_end - std::size(kEventTables));
  if (version < kWatchAndHistoryVersion) return all.first(event_end);
  return all;
}

double histogram_lower_edge(int bin) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bin) << 21));
}

}  // namespace profiling
