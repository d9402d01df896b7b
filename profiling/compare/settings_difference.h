// What was set or found differently for two runs: request, effective settings, device, library.
#pragma once

#include <string>
#include <vector>

#include "profiling/session/session_file.h"

namespace profiling {

struct SettingsRow {
  std::string group;  // "requested", "effective", "device"
  std::string field;  // as on the command line: "recipe.pow2_scales"
  std::string a;      // "absent" where only one has the field
  std::string b;
};

struct SettingsDifference {
  std::vector<SettingsRow> rows;  // only those that differ
  std::size_t same = 0;           // fields of all groups that do not
};

/// Effective settings that differ exactly as the requested ones do are told once, as requested.
SettingsDifference settings_difference(const RecordedRun& a, const RecordedRun& b);

}  // namespace profiling
