// What differs between two runs: request, effective settings, device, library.
#pragma once

#include <string>
#include <vector>

#include "profiling/session/session_file.h"

namespace profiling {

struct SettingsRow {
  std::string group;  // "requested", "effective", "device"
  std::string field;  // as on the command line: "recipe.pow2_scales"
  std::string a;      // "absent" if only the other side has the field
  std::string b;
};

struct SettingsDifference {
  std::vector<SettingsRow> rows;  // only fields that differ
  std::size_t same = 0;           // number of fields in all groups that are equal
};

/// Effective settings that differ exactly as the requested ones do are listed once, as requested.
SettingsDifference settings_difference(const RecordedRun& a, const RecordedRun& b);

}  // namespace profiling
