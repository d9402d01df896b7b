// Where labels stand in a plot: clear of the data and of each other. The one place that decides it;
// a plot says what it has drawn, then asks. Kept on a grid of a few pixels, so that asking costs as
// much as the label is large, whatever the number of points.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "app/gui/theme/theme.h"

namespace app::plot {

class LabelPlaces {
 public:
  /// All in pixels; labels stay inside [min, max].
  LabelPlaces(ImVec2 min, ImVec2 max);

  // What is drawn.
  void keep_free(ImVec2 at, float radius);
  void keep_free(ImVec2 low, ImVec2 high);
  void keep_free_line(ImVec2 from, ImVec2 to);

  /// `clear`: nothing lies below; else the place where least does, and the label needs a ground.
  struct Place {
    ImVec2 at{};
    bool clear = false;
  };
  // Each of them takes the place that it returns.
  /// Of a point's name; none = no room beside it.
  std::optional<ImVec2> beside(ImVec2 at, ImVec2 size, float gap);
  /// Of the name of a line that crosses the plot at height `y`: above or below it, as far right as
  /// can be.
  Place along(float y, ImVec2 size, float gap);
  /// Of a name that belongs to the whole plot: from the left, the lowest row first.
  Place anywhere(ImVec2 size, float gap);

 private:
  struct Cells {
    int left, top, right, bottom;  // inclusive
  };
  Cells cells_of(ImVec2 low, ImVec2 high) const;
  /// Cells that are in use; -1 = it would leave the plot.
  int covered(ImVec2 at, ImVec2 size) const;
  void mark(Cells cells);
  Place best_of(const std::vector<ImVec2>& wished, ImVec2 size);

  ImVec2 min_;
  ImVec2 max_;
  int columns_;
  int rows_;
  std::vector<std::uint8_t> used_;
};

/// The text at its place, on a ground of its own where data lie below.
void draw_label(ImDrawList* draw, const Theme& theme, const LabelPlaces::Place& place, ImU32 color,
                std::string_view text);

}  // namespace app::plot
