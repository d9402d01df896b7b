// Where the cards of a page go: an area cut into rows and columns of given shares, a gap between
// them, whole pixels. A window too small for its cards keeps them readable: they are stacked where
// it is narrow, and scroll where it is low.
#pragma once

#include <imgui.h>

#include <vector>

#include "app/gui/controls/panel_context.h"

namespace app {

struct Area {
  ImVec2 at;
  ImVec2 size;
  ImVec2 end() const { return ImVec2(at.x + size.x, at.y + size.y); }
  /// What is left under its first `taken` pixels.
  Area below(float taken) const {
    return {ImVec2(at.x, at.y + taken), ImVec2(size.x, size.y - taken)};
  }
};

/// Cut from left to right; the last part takes the rounding remainder. Shares need not sum to 1:
/// they are relative.
std::vector<Area> columns_of(const Area& area, float gap, const std::vector<float>& shares);
/// Cut from top to bottom.
std::vector<Area> rows_of(const Area& area, float gap, const std::vector<float>& shares);

/// All in grid pixels, before the text scale.
struct CardNeeds {
  float width = 560;         // below this the cards are stacked
  float height = 400;        // of the cards side by side
  float stacked_height = 0;  // of all cards stacked; 0 = they never are
};

/// The area of a page's cards. Uses a child window only where scrolling is needed: the usual case
/// costs nothing.
class CardGround {
 public:
  CardGround(const PanelContext& context, const char* id, const Area& room, const CardNeeds& needs);
  ~CardGround();
  CardGround(const CardGround&) = delete;
  CardGround& operator=(const CardGround&) = delete;

  bool stacked() const { return stacked_; }
  /// Scrolls as little as shows all of `part`, or its upper edge if it is higher than the room.
  void show(const Area& part) const;
  /// Larger than the given room if that is too low.
  const Area& area() const { return area_; }

 private:
  Area area_;
  bool stacked_ = false;
  bool scrolls_ = false;
};

}  // namespace app
