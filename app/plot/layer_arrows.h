// How the arrows of an expert layer's picture run between its boxes. No ImGui.
#pragma once

#include <vector>

namespace app {

/// Where a box is drawn, in any unit.
struct LayerBox {
  double x = 0.0;
  double y = 0.0;
  double width = 0.0;
  double height = 0.0;
};
struct LayerPoint {
  double x = 0.0;
  double y = 0.0;
};

/// Free to the right of each column, in pixels at scale 1, for what goes past a box.
inline constexpr double kBesideColumn = 8.0;

/// From edge to edge, the tip last: along a row or a column; from one column to another of the next
/// row from the lower edge to the upper one. What is kept and read further down in the same column
/// goes past the box between them, on the right. `unit`: a pixel at scale 1.
std::vector<LayerPoint> arrow_path(const LayerBox& from, const LayerBox& to, bool kept,
                                   double unit);

}  // namespace app
