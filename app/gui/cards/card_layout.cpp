#include "app/gui/cards/card_layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace app {
namespace {

std::vector<float> cut(float length, float gap, const std::vector<float>& shares) {
  const float sum = std::accumulate(shares.begin(), shares.end(), 0.0F);
  const float room = length - gap * static_cast<float>(shares.size() - 1);
  std::vector<float> lengths;
  float left = room;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const bool last = i + 1 == shares.size();
    lengths.push_back(last ? left : std::floor(room * shares[i] / sum));
    left -= lengths.back();
  }
  return lengths;
}

}  // namespace

std::vector<Area> columns_of(const Area& area, float gap, const std::vector<float>& shares) {
  std::vector<Area> parts;
  float x = std::floor(area.at.x);
  for (const float width : cut(area.size.x, gap, shares)) {
    parts.push_back({ImVec2(x, std::floor(area.at.y)), ImVec2(width, area.size.y)});
    x += width + gap;
  }
  return parts;
}

std::vector<Area> rows_of(const Area& area, float gap, const std::vector<float>& shares) {
  std::vector<Area> parts;
  float y = std::floor(area.at.y);
  for (const float height : cut(area.size.y, gap, shares)) {
    parts.push_back({ImVec2(std::floor(area.at.x), y), ImVec2(area.size.x, height)});
    y += height + gap;
  }
  return parts;
}

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

void CardGround::show(const Area& part) const {
  if (!scrolls_) return;
  const float top = ImGui::GetWindowPos().y;
  const float below = part.end().y - (top + ImGui::GetWindowHeight());
  const float above = part.at.y - top;
  const float moved = above < 0.0F ? above : std::clamp(below, 0.0F, above);
  if (moved != 0.0F) ImGui::SetScrollY(ImGui::GetScrollY() + moved);
}

CardGround::~CardGround() {
  if (!scrolls_) return;
  // Extends the scroll range.
  ImGui::SetCursorScreenPos(area_.at);
  ImGui::Dummy(ImVec2(1.0F, area_.size.y));
  ImGui::EndChild();
}

}  // namespace app
