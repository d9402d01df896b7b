// The tables of version 7 of the schema: delayed scaling step by step.
#pragma once

#include "profiling/session/schema.h"

namespace profiling {

inline constexpr TableDefinition kHistoryTables[] = {
    {"amax_histories", R"(CREATE TABLE amax_histories(
  history_id INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL,
  wall_clock_ms INTEGER NOT NULL,
  request_json TEXT NOT NULL,
  asked_tokens INTEGER NOT NULL,
  asked_steps INTEGER NOT NULL,
  outlier_step INTEGER NOT NULL,
  outlier_expert INTEGER NOT NULL,
  outlier_factor REAL NOT NULL,
  steps INTEGER NOT NULL,
  experts INTEGER NOT NULL,
  ring_rows INTEGER NOT NULL,
  wall_ns INTEGER NOT NULL
) STRICT)"},
    {"amax_history_idle", R"(CREATE TABLE amax_history_idle(
  history_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  step INTEGER NOT NULL,
  expert INTEGER NOT NULL,
  PRIMARY KEY(history_id, position)
) STRICT, WITHOUT ROWID)"},
    {"amax_history_steps", R"(CREATE TABLE amax_history_steps(
  history_id INTEGER NOT NULL,
  step INTEGER NOT NULL,
  expert INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  amax REAL,
  history_amax REAL,
  scale_used REAL,
  scale_wanted REAL,
  saturated INTEGER NOT NULL,
  underflowed INTEGER NOT NULL,
  snr_db REAL,
  PRIMARY KEY(history_id, step, expert)
) STRICT, WITHOUT ROWID)"},
    {"amax_history_rings", R"(CREATE TABLE amax_history_rings(
  history_id INTEGER NOT NULL,
  step INTEGER NOT NULL,
  ring BLOB NOT NULL,
  PRIMARY KEY(history_id, step)
) STRICT, WITHOUT ROWID)"},
};

}  // namespace profiling
