// Where labels are placed in a plot: clear of the data and of each other. The only place that
// decides this; a plot marks what it has drawn, then asks. Kept on a grid of a few pixels, so that
// the cost of a query depends on the size of the label, not on the number of points.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "app/gui/theme/theme.h"

namespace app::plot {

class LabelPlaces {
 public:
  /// All in pixels; labels stay inside [min, max].
  LabelPlaces(ImVec2 min, ImVec2 max);

  // Marks what is drawn.
  void keep_free(ImVec2 at, float radius);
  void keep_free(ImVec2 low, ImVec2 high);
  void keep_free_line(ImVec2 from, ImVec2 to);

  /// `clear`: nothing lies below; else the position with the least below, and the label needs a
  /// background. `taken`: every position covers another label, so this one is left out.
  struct Place {
    ImVec2 at{};
    bool clear = false;
    bool taken = false;
  };
  // Each of these reserves the position it returns. For a point's name; none = no room next to it,
  // or only where another point is nearer to the name.
  std::optional<ImVec2> next_to(ImVec2 at, ImVec2 size, float gap);
  /// For a point's name that has no room next to it: further away, but not beyond `most`, where a
  /// line can join the two without crossing a label; none = no such place. The line crosses another
  /// one or a point, and the name is close to another point that is nearer to it, only if there is
  /// no other place. Over data only if there is no clear one, and then the label needs a
  /// background.
  struct Joined {
    ImVec2 at{};   // of the label
    ImVec2 end{};  // of the line, at the label's edge
    bool clear = true;
  };
  struct Reach {
    float least = 0.0F;
    float most = 0.0F;
  };
  std::optional<Joined> joined_to(ImVec2 at, ImVec2 size, Reach reach);
  /// For the name of a line that crosses the plot at height `y`: above or below it, as far right as
  /// possible.
  Place along(float y, ImVec2 size, float gap);
  /// For a name that belongs to the whole plot: from the left, the lowest line of text first.
  Place anywhere(ImVec2 size, float gap);

 private:
  struct Cells {
    int left, top, right, bottom;  // inclusive
  };
  Cells cells_of(ImVec2 low, ImVec2 high) const;
  /// Number of cells in use, those of labels counted kLabelCost times; -1 = it would extend beyond
  /// the plot.
  int covered(ImVec2 at, ImVec2 size) const;
  /// Calls visit(cell) for the cells that the line crosses.
  template <class Visit>
  void for_each_cell(ImVec2 from, ImVec2 to, Visit visit);
  void mark(Cells cells, std::uint8_t as);
  void reserve(ImVec2 at, ImVec2 size);
  /// No other point that is nearer to what lies there than this one is closer to it than `near`.
  bool passes_another(ImVec2 point, ImVec2 from, ImVec2 to) const;
  bool belongs_to(ImVec2 point, ImVec2 at, ImVec2 size,
                  float near = std::numeric_limits<float>::infinity()) const;
  struct Allowed {
    float near = 0.0F;  // other points closer than this, and closer than its own, are not allowed
    bool crossing = false;  // the line may cross another, or pass over a point
    bool over_data = false;
  };
  std::optional<Joined> joined_where(ImVec2 at, ImVec2 size, Reach reach, Allowed allowed);
  Place best_of(const std::vector<ImVec2>& wished, ImVec2 size);

  ImVec2 min_;
  ImVec2 max_;
  int columns_;
  int rows_;
  std::vector<std::uint8_t> used_;
  std::vector<ImVec2> points_;  // at most kMostPoints: among more, no name is close to one alone
};

/// Draws the text at its position, on a background if data lie below; nothing if it is taken.
void draw_label(ImDrawList* draw, const Theme& theme, const LabelPlaces::Place& place, ImU32 color,
                std::string_view text);

}  // namespace app::plot
