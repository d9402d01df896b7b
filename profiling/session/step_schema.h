// What the whole linear step added to a run, since version 3 of the schema: errors of its products,
// emulation, the counts of its graph, the algorithms that were tried.
#pragma once

#include "profiling/session/schema.h"

namespace profiling {

inline constexpr TableDefinition kStepTables[] = {
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

}  // namespace profiling
