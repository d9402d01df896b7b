// Text and small marks on ImDrawList.
#include "app/gui/plot/plot_text.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "app/gui/controls/widgets.h"
#include "app/gui/theme/fitted_lines.h"

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

void explain_cut(const PanelContext& context, std::string_view shown, std::string_view whole,
                 ImVec2 min, ImVec2 max) {
  if (!ImGui::IsMouseHoveringRect(min, max) || !ImGui::IsWindowHovered()) return;
  controls::tooltip(context, with_whole(shown, whole));
}

void draw_fitted(const PanelContext& context, const ImFont* font, ImVec2 at, ImU32 color,
                 std::string_view text, float width) {
  const std::string shown = fitted(font, text, width);
  draw_text(ImGui::GetWindowDrawList(), font, at, color, shown);
  explain_cut(context, shown, text, at, ImVec2(at.x + width, at.y + font->FontSize));
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

float draw_legend(const PanelContext& context, const LegendSpec& spec,
                  const std::vector<LegendEntry>& entries) {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImFont* font = theme.fonts.label;
  const float chip = theme.px(12);
  const float room = spec.right.x - spec.left;
  const float line = font->FontSize + theme.px(2);
  std::vector<std::string> names;
  std::vector<float> lines;  // their widths
  std::vector<std::size_t> line_of;
  std::string shown;
  for (const LegendEntry& entry : entries) {
    names.push_back(fitted(font, entry.name, std::max(room - chip, 1.0F)));
    const float width = chip + text_size(font, names.back()).x;
    const bool fits = !lines.empty() && lines.back() + spec.gap + width <= room;
    if (fits) {
      lines.back() += spec.gap + width;
    } else {
      lines.push_back(width);
    }
    line_of.push_back(lines.size() - 1);
    shown += (shown.empty() ? "" : "; ") + names.back();
  }
  ImVec2 at(spec.right.x, spec.right.y);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == 0 || line_of[i] != line_of[i - 1]) {
      at = ImVec2(spec.right.x - lines[line_of[i]],
                  spec.right.y + line * static_cast<float>(line_of[i]));
    }
    draw_chip(draw, theme, font, at, entries[i].color);
    const ImVec2 end(at.x + chip + text_size(font, names[i]).x, at.y + font->FontSize);
    draw_text(draw, font, ImVec2(at.x + chip, at.y), theme.colors.text, names[i]);
    explain_cut(context, names[i], entries[i].name, at, end);
    at.x = end.x + spec.gap;
  }
  const float below = lines.size() > 1 ? line * static_cast<float>(lines.size() - 1) : 0.0F;
  controls::record(context, spec.id, "legend", "text", shown, ImVec2(spec.left, spec.right.y),
                   ImVec2(spec.right.x, spec.right.y + below + font->FontSize));
  return below;
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
