// Table definitions of version 5: what belongs to how runs were measured.
#pragma once

#include <array>
#include <string_view>

#include "profiling/session/schema.h"

namespace profiling {

inline constexpr TableDefinition kMeasurementTables[] = {
    {"run_groups", R"(CREATE TABLE run_groups(
  run_id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  group_id INTEGER NOT NULL,
  position INTEGER NOT NULL,
  label TEXT NOT NULL
) STRICT)"},
};

inline constexpr std::array<std::string_view, 3> kGroupKinds = {"none", "sweep", "interleaved"};

}  // namespace profiling
