#include "app/gui/graph/graph_key.h"

#include <algorithm>
#include <cmath>

#include "app/gui/controls/widgets.h"
#include "app/gui/plot/plot_text.h"

namespace app {
namespace {

constexpr float kMarkWidth = 18.0F;  // grid pixels

float line_height(const Theme& theme) { return theme.fonts.label->FontSize + theme.px(kGapSmall); }

float entry_width(const Theme& theme, const KeyEntry& entry) {
  return theme.px(kMarkWidth + kGapSmall) + plot::text_size(theme.fonts.label, entry.name).x;
}

/// Left ends and lines of the entries.
std::vector<ImVec2> places_of(const Theme& theme, float width,
                              const std::vector<KeyEntry>& entries) {
  std::vector<ImVec2> places;
  ImVec2 at(0, 0);
  for (const KeyEntry& entry : entries) {
    const float wide = entry_width(theme, entry);
    if (at.x > 0.0F && at.x + wide > width) at = ImVec2(0, at.y + line_height(theme));
    places.push_back(at);
    at.x += wide + theme.px(kGapLarge);
  }
  return places;
}

void draw_mark(ImDrawList* draw, const Theme& theme, ImVec2 at, const KeyEntry& entry) {
  const float side = theme.px(8);
  const float middle = at.y + 0.5F * theme.fonts.label->FontSize;
  const ImVec2 end(at.x + theme.px(kMarkWidth), middle);
  const ImVec2 low(end.x - side - theme.px(2), middle - 0.5F * side);
  const ImVec2 high(low.x + side, low.y + side);
  const float head = theme.px(6);
  switch (entry.mark) {
    case KeyEntry::Mark::Filled:
      return draw->AddRectFilled(low, high, entry.color, theme.px(1));
    case KeyEntry::Mark::Outlined:
      return draw->AddRect(low, high, entry.color, theme.px(1), 0, theme.px(2));
    case KeyEntry::Mark::Named:
      return draw_warning(draw, theme, ImVec2(low.x - theme.px(1), low.y - theme.px(1)),
                          side + theme.px(2));
    case KeyEntry::Mark::Arrow:
      draw->AddLine(ImVec2(at.x, middle), ImVec2(end.x - head, middle), entry.color, theme.px(1));
      return draw_arrowhead(draw, end, ImVec2(1, 0), head, entry.color);
    case KeyEntry::Mark::Dashed:
      return draw_dashed(draw, ImVec2(at.x, middle), end, entry.color, theme.px(6), theme.px(1.5F));
    case KeyEntry::Mark::Dotted:
      return draw_dashed(draw, ImVec2(at.x, middle), end, entry.color, theme.px(2.5F),
                         theme.px(1.5F));
    case KeyEntry::Mark::Scale: {
      constexpr int kSteps = 9;
      const float step = theme.px(kMarkWidth) / kSteps;
      for (int i = 0; i < kSteps; ++i) {
        const float x = at.x + step * static_cast<float>(i);
        draw->AddRectFilled(ImVec2(x, low.y), ImVec2(x + step, high.y),
                            theme.sequential(static_cast<float>(i) / (kSteps - 1)));
      }
      return;
    }
  }
}

}  // namespace

void draw_arrowhead(ImDrawList* draw, ImVec2 tip, ImVec2 along, float length, ImU32 color) {
  const ImVec2 base(tip.x - along.x * length, tip.y - along.y * length);
  const ImVec2 side(-along.y * 0.4F * length, along.x * 0.4F * length);
  draw->AddTriangleFilled(tip, ImVec2(base.x + side.x, base.y + side.y),
                          ImVec2(base.x - side.x, base.y - side.y), color);
}

void draw_dashed(ImDrawList* draw, ImVec2 from, ImVec2 to, ImU32 color, float dash, float width) {
  const float length = std::hypot(to.x - from.x, to.y - from.y);
  if (length < dash) return draw->AddLine(from, to, color, width);
  const ImVec2 step((to.x - from.x) / length, (to.y - from.y) / length);
  // An edge across the whole graph, zoomed in, is thousands of dashes long.
  const float apart = std::max(2.0F * dash, length / 400.0F);
  for (float at = 0.0F; at < length; at += apart) {
    const float end = std::min(at + 0.5F * apart, length);
    draw->AddLine(ImVec2(from.x + step.x * at, from.y + step.y * at),
                  ImVec2(from.x + step.x * end, from.y + step.y * end), color, width);
  }
}

void draw_warning(ImDrawList* draw, const Theme& theme, ImVec2 top, float side) {
  draw->AddTriangleFilled(ImVec2(top.x + 0.5F * side, top.y), ImVec2(top.x + side, top.y + side),
                          ImVec2(top.x, top.y + side), theme.colors.bad);
  const float middle = std::round(top.x + 0.5F * side);
  const float thick = std::max(1.0F, 0.14F * side);
  const ImU32 sign = theme.colors.panel;
  draw->AddLine(ImVec2(middle, top.y + 0.36F * side), ImVec2(middle, top.y + 0.7F * side), sign,
                thick);
  draw->AddLine(ImVec2(middle, top.y + 0.78F * side), ImVec2(middle, top.y + 0.9F * side), sign,
                thick);
}

float key_height(const Theme& theme, float width, const std::vector<KeyEntry>& entries) {
  if (entries.empty()) return 0.0F;
  return places_of(theme, width, entries).back().y + line_height(theme);
}

void draw_key(const PanelContext& context, const char* id, ImVec2 at, float width,
              const std::vector<KeyEntry>& entries) {
  const Theme& theme = context.theme;
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const std::vector<ImVec2> places = places_of(theme, width, entries);
  std::string names;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const ImVec2 from(at.x + places[i].x, at.y + places[i].y);
    draw_mark(draw, theme, from, entries[i]);
    plot::draw_text(draw, theme.fonts.label,
                    ImVec2(from.x + theme.px(kMarkWidth + kGapSmall), from.y),
                    theme.colors.dim_text, entries[i].name);
    names += (names.empty() ? "" : "; ") + entries[i].name;
  }
  controls::record(context, id, "key", "text", names, at,
                   ImVec2(at.x + width, at.y + key_height(theme, width, entries)));
}

}  // namespace app
