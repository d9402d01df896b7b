// Tables of numerics since version 5 of the schema: how scales spread and what is lost under them,
// the rows of experts in comparisons, and what a comparison of dY needs to be known again.
#pragma once

#include "profiling/session/schema.h"

namespace profiling {

inline constexpr TableDefinition kNumericsTables[] = {
    {"scale_spreads", R"(CREATE TABLE scale_spreads(
  run_id INTEGER NOT NULL,
  operand TEXT NOT NULL,
  scales INTEGER NOT NULL,
  distinct_scales INTEGER NOT NULL,
  mean REAL NOT NULL,
  deviation REAL NOT NULL,
  saturated INTEGER NOT NULL,
  underflowed INTEGER NOT NULL,
  has_losses INTEGER NOT NULL,
  cell_minimum BLOB NOT NULL,
  cell_deviation BLOB NOT NULL,
  cell_saturated BLOB NOT NULL,
  cell_underflowed BLOB NOT NULL,
  PRIMARY KEY(run_id, operand)
) STRICT, WITHOUT ROWID)"},
    {"comparison_scale_spreads", R"(CREATE TABLE comparison_scale_spreads(
  comparison_id INTEGER NOT NULL,
  report INTEGER NOT NULL,
  scales INTEGER NOT NULL,
  distinct_scales INTEGER NOT NULL,
  mean REAL NOT NULL,
  deviation REAL NOT NULL,
  saturated INTEGER NOT NULL,
  underflowed INTEGER NOT NULL,
  has_losses INTEGER NOT NULL,
  cell_minimum BLOB NOT NULL,
  cell_deviation BLOB NOT NULL,
  cell_saturated BLOB NOT NULL,
  cell_underflowed BLOB NOT NULL,
  PRIMARY KEY(comparison_id, report)
) STRICT, WITHOUT ROWID)"},
    {"comparison_report_facts", R"(CREATE TABLE comparison_report_facts(
  comparison_id INTEGER NOT NULL,
  report INTEGER NOT NULL,
  gradient_format TEXT NOT NULL,
  square_activation_blocks INTEGER NOT NULL,
  square_gradient_blocks INTEGER NOT NULL,
  waste_scales INTEGER NOT NULL,
  waste_mean REAL NOT NULL,
  waste_max REAL NOT NULL,
  PRIMARY KEY(comparison_id, report)
) STRICT, WITHOUT ROWID)"},
    {"comparison_recipe_facts", R"(CREATE TABLE comparison_recipe_facts(
  comparison_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  gradient_format TEXT NOT NULL,
  square_activation_blocks INTEGER NOT NULL,
  square_gradient_blocks INTEGER NOT NULL,
  PRIMARY KEY(comparison_id, position)
) STRICT, WITHOUT ROWID)"},
    {"comparison_experts", R"(CREATE TABLE comparison_experts(
  comparison_id INTEGER NOT NULL,
  report INTEGER NOT NULL,
  expert INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  snr_db REAL,
  saturated INTEGER NOT NULL,
  underflowed INTEGER NOT NULL,
  waste_scales INTEGER NOT NULL,
  waste_mean REAL NOT NULL,
  waste_max REAL NOT NULL,
  PRIMARY KEY(comparison_id, report, expert)
) STRICT, WITHOUT ROWID)"},
};

}  // namespace profiling
