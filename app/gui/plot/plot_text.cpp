// Text and small marks on ImDrawList.
#include "app/gui/plot/plot_text.h"

#include <algorithm>

namespace app::plot {

ImVec2 text_size(const ImFont* font, std::string_view text) { return shown_size(font, text); }

void draw_text(ImDrawList* draw, const ImFont* font, ImVec2 at, ImU32 color,
               std::string_view text) {
  // Whole pixels keep the glyphs sharp.
  const ImVec2 pixel(static_cast<float>(static_cast<int>(at.x)),
                     static_cast<float>(static_cast<int>(at.y)));
  draw_shown(draw, font, pixel, color, text);
}

void draw_text_right(ImDrawList* draw, const ImFont* font, ImVec2 at, ImU32 color,
                     std::string_view text) {
  draw_text(draw, font, ImVec2(at.x - text_size(font, text).x, at.y), color, text);
}

void draw_text_centered(ImDrawList* draw, const ImFont* font, ImVec2 at, ImU32 color,
                        std::string_view text) {
  draw_text(draw, font, ImVec2(at.x - 0.5F * text_size(font, text).x, at.y), color, text);
}

ImU32 faded(ImU32 color, float alpha) {
  const auto before = static_cast<float>((color & IM_COL32_A_MASK) >> IM_COL32_A_SHIFT);
  const auto after = static_cast<ImU32>(std::clamp(before * alpha, 0.0F, 255.0F) + 0.5F);
  return (color & ~IM_COL32_A_MASK) | (after << IM_COL32_A_SHIFT);
}

ImVec2 draw_chip(ImDrawList* draw, const Theme& theme, const ImFont* font, ImVec2 at, ImU32 color) {
  const float side = theme.px(8);
  const float top = at.y + 0.5F * (font->FontSize - side);
  draw->AddRectFilled(ImVec2(at.x, top), ImVec2(at.x + side, top + side), color, theme.px(1));
  return ImVec2(at.x + side + theme.px(kGapSmall), at.y);
}

void draw_legend(const Theme& theme, ImVec2 right, float left, float gap,
                 const std::vector<LegendEntry>& entries) {
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImFont* font = theme.fonts.label;
  ImVec2 at = right;
  // Where all names have no room, each is shortened: a colour without a name says nothing.
  float wanted = 0.0F;
  for (const LegendEntry& entry : entries) {
    wanted += text_size(font, entry.name).x + theme.px(12) + gap;
  }
  const float room =
      (right.x - left) / static_cast<float>(std::max<std::size_t>(entries.size(), 1)) -
      theme.px(12) - gap;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const std::string name =
        wanted <= right.x - left ? entry->name : fitted(font, entry->name, std::max(room, 1.0F));
    at.x -= text_size(font, name).x;
    draw_text(draw, font, at, theme.colors.text, name);
    at.x -= theme.px(12);
    draw_chip(draw, theme, font, at, entry->color);
    at.x -= gap;
  }
}

void draw_hatch(ImDrawList* draw, ImVec2 min, ImVec2 max, ImU32 color, float step) {
  draw->PushClipRect(min, max, true);
  const float height = max.y - min.y;
  for (float x = min.x - height; x < max.x; x += step) {
    draw->AddLine(ImVec2(x, max.y), ImVec2(x + height, min.y), color);
  }
  draw->PopClipRect();
}

}  // namespace app::plot
