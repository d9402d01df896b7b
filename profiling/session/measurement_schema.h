// The tables of version 5 of the schema: what a run measured besides its iterations, with clock and
// power beside it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "profiling/session/schema.h"

namespace profiling {

inline constexpr TableDefinition kMeasurementTables[] = {
    {"expert_timings", R"(CREATE TABLE expert_timings(
  run_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  method TEXT NOT NULL,
  stage INTEGER NOT NULL,
  expert INTEGER NOT NULL,
  samples INTEGER NOT NULL,
  median_ns REAL NOT NULL,
  p5_ns REAL NOT NULL,
  p95_ns REAL NOT NULL,
  PRIMARY KEY(run_id, position)
) STRICT, WITHOUT ROWID)"},
    {"observer_timings", R"(CREATE TABLE observer_timings(
  run_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  level TEXT NOT NULL,
  samples INTEGER NOT NULL,
  median_ns REAL NOT NULL,
  p5_ns REAL NOT NULL,
  p95_ns REAL NOT NULL,
  PRIMARY KEY(run_id, position)
) STRICT, WITHOUT ROWID)"},
    {"ceilings", R"(CREATE TABLE ceilings(
  run_id INTEGER PRIMARY KEY,
  copy_bytes_per_s REAL NOT NULL,
  copy_bytes INTEGER NOT NULL,
  copies INTEGER NOT NULL,
  product_flop_per_s REAL NOT NULL,
  products INTEGER NOT NULL,
  product TEXT NOT NULL
) STRICT)"},
    {"power_sources", R"(CREATE TABLE power_sources(
  run_id INTEGER PRIMARY KEY,
  method TEXT NOT NULL,
  missing TEXT NOT NULL
) STRICT)"},
    {"power_samples", R"(CREATE TABLE power_samples(
  run_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  time_ns INTEGER NOT NULL,
  sm_clock_mhz INTEGER NOT NULL,
  memory_clock_mhz INTEGER NOT NULL,
  power_w REAL NOT NULL,
  temperature_c INTEGER NOT NULL,
  clock_reasons INTEGER NOT NULL,
  PRIMARY KEY(run_id, position)
) STRICT, WITHOUT ROWID)"},
    {"run_groups", R"(CREATE TABLE run_groups(
  run_id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  group_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  label TEXT NOT NULL
) STRICT)"},
    {"time_notes", R"(CREATE TABLE time_notes(
  run_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  begin_ns INTEGER NOT NULL,
  end_ns INTEGER NOT NULL,
  text TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  PRIMARY KEY(run_id, position)
) STRICT, WITHOUT ROWID)"},
};

inline constexpr std::array<std::string_view, 3> kExpertMethodNames = {"trace", "stamps",
                                                                       "isolated"};
inline constexpr std::array<std::string_view, 3> kGroupKinds = {"none", "sweep", "interleaved"};
inline constexpr std::array<std::string_view, 3> kTraceLevelNames = {"nodes", "graphs", "off"};

inline constexpr std::int64_t kMaxExpertTimings = 1 << 16;   // of one run
inline constexpr std::int64_t kMaxObserverTimings = 100;     // of one run
inline constexpr std::int64_t kMaxTimeNotes = 10'000;        // of one run
inline constexpr std::int64_t kMaxPowerSamples = 1'000'000;  // of one run

}  // namespace profiling
