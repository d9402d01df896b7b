// Bars, whiskers and companion ticks.
#include "app/gui/plot/bar_plot.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/plot/plot_text.h"

namespace app::plot {

BarHit draw_bars(const PanelContext& context, const BarSpec& spec, const std::vector<Bar>& bars,
                 PlotView& view) {
  const Theme& theme = context.theme;
  double highest = 0.0;
  double lowest = 0.0;
  double companion_peak = 0.0;
  for (const Bar& bar : bars) {
    if (std::isfinite(bar.value)) {
      highest = std::max({highest, bar.value, bar.high});
      lowest = std::min({lowest, bar.value, bar.low});
    }
    companion_peak = std::max(companion_peak, bar.companion);
  }
  FrameSpec frame_spec;
  frame_spec.id = spec.id;
  frame_spec.size = spec.size;
  frame_spec.x.kind = AxisKind::Integer;
  frame_spec.x.label = spec.x_label;
  const auto items = static_cast<double>(bars.size() / spec.per_item);
  frame_spec.x.limits = {-0.5, std::max(items, 1.0) - 0.5};
  frame_spec.y = spec.y;
  frame_spec.selectable = false;
  frame_spec.min_span = 4.0;
  if (frame_spec.y.limits.empty()) {
    frame_spec.y.limits = {lowest * 1.1, highest > 0.0 || lowest < 0.0 ? highest * 1.1 : 1.0};
  }
  PlotFrame frame(context, frame_spec, view);
  ImDrawList* draw = frame.draw();
  const double width = frame.x().pixels_per_unit();
  const double gap = width > 6.0 ? 0.16 : 0.0;
  const double share = (1.0 - 2.0 * gap) / static_cast<double>(spec.per_item);
  // Bars that hang down need the line from which they do.
  const bool signed_bars = frame_spec.y.limits.min < 0.0;
  const float zero = signed_bars ? frame.y().to_pixel(0.0) : frame.max().y;
  int hovered = -1;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const std::size_t item = i / spec.per_item;
    const std::size_t beside = i % spec.per_item;
    const auto center = static_cast<double>(item);
    if (center + 0.5 < frame.x().view.min || center - 0.5 > frame.x().view.max) continue;
    const double start = center - 0.5 + gap + share * static_cast<double>(beside);
    const float left = frame.x().to_pixel(start);
    const float right = std::max(frame.x().to_pixel(start + share), left + 1.0F);
    const float middle = 0.5F * (left + right);
    const float bottom = frame.max().y;
    if (beside == 0 && frame.hovered() && frame.hover_x() >= center - 0.5 &&
        frame.hover_x() < center + 0.5) {
      hovered = static_cast<int>(item);
      draw->AddRectFilled(ImVec2(frame.x().to_pixel(center - 0.5), frame.min().y),
                          ImVec2(frame.x().to_pixel(center + 0.5), bottom),
                          faded(theme.colors.text, 0.07F));
    }
    if (beside == 0 && std::cmp_equal(spec.selected, item)) {
      draw->AddRect(ImVec2(frame.x().to_pixel(center - 0.5), frame.min().y),
                    ImVec2(frame.x().to_pixel(center + 0.5), bottom), theme.colors.accent,
                    theme.px(2), 0, theme.px(1.5F));
    }
    if (bar.outside) {
      draw->AddRectFilledMultiColor(ImVec2(left, frame.min().y), ImVec2(right, bottom),
                                    faded(bar.color, 0.1F), faded(bar.color, 0.1F), bar.color,
                                    bar.color);
    } else if (!std::isfinite(bar.value)) {
      draw_hatch(draw, ImVec2(left, frame.min().y), ImVec2(right, bottom), theme.colors.line,
                 theme.px(5));
    } else {
      const float end = std::clamp(frame.y().to_pixel(bar.value), frame.min().y, bottom);
      if (bar.band != 0 && bar.high > bar.low) {
        draw->AddRectFilled(ImVec2(left, frame.y().to_pixel(bar.high)),
                            ImVec2(right, frame.y().to_pixel(bar.low)), bar.band);
      }
      draw->AddRectFilled(ImVec2(left, std::min(end, zero - 1.0F)),
                          ImVec2(right, std::max(end, zero)), faded(bar.color, 0.85F));
      if (bar.high > bar.low) {
        const float high = frame.y().to_pixel(bar.high);
        const float low = frame.y().to_pixel(bar.low);
        const float half = std::min(0.3F * (right - left), theme.px(5));
        draw->AddLine(ImVec2(middle, high), ImVec2(middle, low), theme.colors.text);
        draw->AddLine(ImVec2(middle - half, high), ImVec2(middle + half, high), theme.colors.text);
        draw->AddLine(ImVec2(middle - half, low), ImVec2(middle + half, low), theme.colors.text);
      }
    }
    if (!spec.companion_label.empty() && companion_peak > 0.0) {
      const double part = bar.companion / companion_peak;
      const float y = bottom - static_cast<float>(part * 0.9) * (bottom - frame.min().y);
      const ImU32 color = theme.colors.warn;
      draw->AddRectFilled(ImVec2(left, y - theme.px(1)), ImVec2(right, y + theme.px(1)), color);
    }
  }
  if (signed_bars) {
    draw->AddLine(ImVec2(frame.min().x, zero), ImVec2(frame.max().x, zero),
                  faded(theme.colors.text, 0.6F));
  }
  if (!spec.companion_label.empty()) {
    const float width_of_label = text_size(theme.fonts.label, spec.companion_label).x;
    const ImVec2 at(frame.max().x - width_of_label - theme.px(kGapSmall),
                    frame.min().y - theme.fonts.label->FontSize - theme.px(3));
    frame.open_clip();
    draw->AddRectFilled(
        ImVec2(at.x - theme.px(14), at.y + 0.45F * theme.fonts.label->FontSize),
        ImVec2(at.x - theme.px(4), at.y + 0.45F * theme.fonts.label->FontSize + theme.px(2)),
        theme.colors.warn);
    draw_text(draw, theme.fonts.label, at, theme.colors.dim_text, spec.companion_label);
    frame.close_clip();
  }
  return {.index = hovered, .clicked = hovered >= 0 && frame.clicked()};
}

}  // namespace app::plot
