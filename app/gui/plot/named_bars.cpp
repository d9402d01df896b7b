#include "app/gui/plot/named_bars.h"

#include <algorithm>
#include <cmath>

#include "app/gui/controls/scopes.h"
#include "app/gui/plot/plot_text.h"

namespace app::plot {
namespace {

/// Room that the texts take.
struct Margins {
  float name = 0.0F;
  float text = 0.0F;
};

Margins margins_of(const ImFont* font, const std::vector<NamedBar>& bars, float width, float gap) {
  Margins margins;
  for (const NamedBar& bar : bars) {
    margins.name = std::max(margins.name, text_size(font, bar.name).x);
    margins.text = std::max(margins.text, text_size(font, bar.text).x);
  }
  margins.name = std::min(margins.name, 0.35F * width) + gap;
  margins.text = std::min(margins.text, 0.45F * width) + gap;
  return margins;
}

/// Labels of the lines, in the first row, the later ones left of their lines where they would
/// collide.
void draw_references(const PanelContext& context, const NamedBarsSpec& spec, ImVec2 from, ImVec2 to,
                     const ImFont* font) {
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const float line = font->FontSize + context.theme.px(2);
  float taken = from.x - context.theme.px(kGap);
  for (const BarReference& reference : spec.references) {
    if (!std::isfinite(reference.value) || spec.end <= 0.0) continue;
    const float x = from.x + static_cast<float>(std::clamp(reference.value / spec.end, 0.0, 1.0)) *
                                 (to.x - from.x);
    draw->AddLine(ImVec2(x, from.y + line), ImVec2(x, to.y), reference.color, 1.0F);
    const float width = text_size(font, reference.label).x;
    const float left = std::max(std::min(x, to.x - width), taken + context.theme.px(kGap));
    draw_text(draw, font, ImVec2(left, from.y), reference.color, reference.label);
    taken = left + width;
  }
}

float least_row(const Theme& theme) { return theme.fonts.label->FontSize + theme.px(7); }

/// A bar this much thicker than its text does not belong to it any more.
constexpr float kThickestRow = 2.5F;

}  // namespace

ImVec2 named_bars_need(const Theme& theme, std::size_t rows) {
  const float head = theme.fonts.label->FontSize + theme.px(kGapSmall);
  return {theme.px(420), head + least_row(theme) * static_cast<float>(rows)};
}

int draw_named_bars(const PanelContext& context, const NamedBarsSpec& spec,
                    const std::vector<NamedBar>& bars) {
  const Theme& theme = context.theme;
  const ImFont* font = theme.fonts.label;
  const float gap = theme.px(kGap);
  const float head = spec.references.empty() ? 0.0F : font->FontSize + theme.px(kGapSmall);
  float row = least_row(theme);
  if (context.presenting != nullptr && !bars.empty()) {
    const float share = std::floor((spec.size.y - head) / static_cast<float>(bars.size()));
    row = std::clamp(share, row, kThickestRow * row);
  }
  const ChildScope body(spec.id, spec.size, 0, ImVec2(0, 0));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const Margins margins = margins_of(font, bars, width, gap);
  const float left = at.x + margins.name;
  const float room = std::max(width - margins.name - margins.text, theme.px(20));
  const float top = at.y + head;
  const float bottom = top + row * static_cast<float>(bars.size());
  ImGui::Dummy(ImVec2(width, bottom - at.y));
  ImDrawList* draw = ImGui::GetWindowDrawList();
  const ImVec2 mouse = ImGui::GetMousePos();
  const bool inside = ImGui::IsWindowHovered() && context.picture == nullptr;
  int hovered = -1;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const NamedBar& bar = bars[i];
    const float y = top + row * static_cast<float>(i);
    if (inside && mouse.y >= y && mouse.y < y + row) {
      hovered = static_cast<int>(i);
      draw->AddRectFilled(ImVec2(at.x, y), ImVec2(at.x + width, y + row), theme.colors.raised);
    }
    const float text_y = y + 0.5F * (row - font->FontSize);
    draw_text(draw, font, ImVec2(at.x, text_y),
              bar.marked ? theme.colors.accent : theme.colors.text,
              fitted(font, bar.name, margins.name - gap));
    float x = left;
    for (const BarSegment& segment : bar.segments) {
      if (!(segment.value > 0.0) || spec.end <= 0.0) continue;
      const double share = std::min(segment.value / spec.end, 1.0);
      const float end = std::min(x + static_cast<float>(share) * room, left + room);
      draw->AddRectFilled(ImVec2(x, y + theme.px(2)), ImVec2(end, y + row - theme.px(2)),
                          segment.color, theme.px(1));
      x = end;
    }
    draw_text(draw, font, ImVec2(x + theme.px(kGapSmall), text_y), theme.colors.dim_text,
              fitted(font, bar.text, at.x + width - x - theme.px(kGapSmall)));
  }
  draw_references(context, spec, ImVec2(left, at.y), ImVec2(left + room, bottom), font);
  return hovered;
}

}  // namespace app::plot
