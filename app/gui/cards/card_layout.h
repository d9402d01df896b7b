// Places the cards of a page: an area cut into rows or columns of given shares, a gap between
// them, whole pixels. No ImGui calls.
#pragma once

#include <imgui.h>

#include <vector>

namespace app {

struct Area {
  ImVec2 at;
  ImVec2 size;
  ImVec2 end() const { return ImVec2(at.x + size.x, at.y + size.y); }
};

/// Cut from left to right; the last part takes the rounding remainder.
std::vector<Area> columns_of(const Area& area, float gap, const std::vector<float>& shares);
/// Cut from top to bottom.
std::vector<Area> rows_of(const Area& area, float gap, const std::vector<float>& shares);

}  // namespace app
