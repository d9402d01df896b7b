// Uses a child window only where scrolling is needed: the usual case costs nothing.
#include "app/gui/cards/card_ground.h"

namespace app {

CardGround::CardGround(const PanelContext& context, const char* id, const Area& room,
                       const CardNeeds& needs)
    : area_(room) {
  const Theme& theme = context.theme;
  stacked_ = needs.stacked_height > 0.0F && room.size.x < theme.px(needs.width);
  const float height = theme.px(stacked_ ? needs.stacked_height : needs.height);
  scrolls_ = room.size.y < height;
  if (!scrolls_) return;
  ImGui::SetCursorScreenPos(room.at);
  ImGui::BeginChild(id, room.size, false);
  area_ = {ImGui::GetCursorScreenPos(), ImVec2(ImGui::GetContentRegionAvail().x, height)};
}

CardGround::~CardGround() {
  if (!scrolls_) return;
  // Extends the scroll range.
  ImGui::SetCursorScreenPos(area_.at);
  ImGui::Dummy(ImVec2(1.0F, area_.size.y));
  ImGui::EndChild();
}

}  // namespace app
