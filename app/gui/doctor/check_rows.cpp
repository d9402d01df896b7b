#include "app/gui/doctor/check_rows.h"

#include <algorithm>

namespace app {

std::vector<CheckRow> check_rows(std::span<const profiling::OutputCheck> checks, float room,
                                 float most) {
  std::vector<CheckRow> rows;
  int parts = 1;
  for (const profiling::OutputCheck& check : checks) {
    parts = std::max(parts, check.parts);
    if (std::ranges::find(rows, check.output, &CheckRow::output) == rows.end()) {
      rows.push_back({.output = check.output});
    }
  }
  const float count = static_cast<float>(std::max<std::size_t>(rows.size(), 1));
  const float height = std::min(room / count, most * static_cast<float>(parts));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].top = height * static_cast<float>(i);
    rows[i].height = height;
  }
  return rows;
}

}  // namespace app
