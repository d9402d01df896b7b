// The area of a page's cards. A window that is too small for them, or whose text is large, keeps
// them readable: cards are stacked where it is narrow, and scroll where it is low.
#pragma once

#include "app/gui/cards/card_layout.h"
#include "app/gui/controls/panel_context.h"

namespace app {

/// All in grid pixels, before the text scale.
struct CardNeeds {
  float width = 560;         // below this the cards are stacked
  float height = 400;        // of the cards side by side
  float stacked_height = 0;  // of all cards stacked; 0 = they never are
};

class CardGround {
 public:
  CardGround(const PanelContext& context, const char* id, const Area& room, const CardNeeds& needs);
  ~CardGround();
  CardGround(const CardGround&) = delete;
  CardGround& operator=(const CardGround&) = delete;

  bool stacked() const { return stacked_; }
  /// Larger than the given room if that is too low.
  const Area& area() const { return area_; }

 private:
  Area area_;
  bool stacked_ = false;
  bool scrolls_ = false;
};

}  // namespace app
