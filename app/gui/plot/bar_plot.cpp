#include "app/gui/plot/bar_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "app/gui/controls/widgets.h"
#include "app/gui/plot/companion_scale.h"
#include "app/gui/plot/format.h"

#include "app/gui/plot/plot_text.h"

namespace app::plot {
namespace {

Range limits_of(const std::vector<Bar>& bars) {
  Range reach;
  for (const Bar& bar : bars) {
    if (!std::isfinite(bar.value)) continue;
    reach = widened(widened(widened(reach, bar.value), bar.low), bar.high);
  }
  return {reach.min * 1.1, reach.empty() ? 1.0 : reach.max * 1.1};
}

/// Above the right end of the plot.
void name_companions(const PanelContext& context, const PlotFrame& frame, const BarSpec& spec,
                     const std::vector<Bar>& bars) {
  const Theme& theme = context.theme;
  // They have no axis: the name says from where to where they go.
  const std::string label = companion_words(spec.companion_label, bars);
  const ImFont* font = theme.fonts.label;
  const ImVec2 at(frame.max().x - text_size(font, label).x - theme.px(kGapSmall),
                  frame.min().y - font->FontSize - theme.px(3));
  const float middle = at.y + 0.45F * font->FontSize;
  frame.open_clip();
  frame.draw()->AddRectFilled(ImVec2(at.x - theme.px(14), middle),
                              ImVec2(at.x - theme.px(4), middle + theme.px(2)), theme.colors.warn);
  draw_text(frame.draw(), font, at, theme.colors.dim_text, label);
  frame.close_clip();
  controls::record(context, (std::string(spec.id).substr(2) + ".companions").c_str(), label.c_str(),
                   "text", label, at, ImVec2(frame.max().x, at.y + font->FontSize));
}

}  // namespace

MarkHit draw_bars(const PanelContext& context, const BarSpec& spec, const std::vector<Bar>& bars,
                  PlotView& view) {
  const Bars mark{
      .bars = &bars, .per_item = spec.per_item, .companions = !spec.companion_label.empty()};
  FrameSpec frame_spec{
      .id = spec.id,
      .size = spec.size,
      .x = {.kind = AxisKind::Integer,
            .label = spec.x_label,
            .limits = {-0.5, std::max(static_cast<double>(mark.items()), 1.0) - 0.5}},
      .y = spec.y,
      .selectable = false,
      .min_span = 4.0};
  if (frame_spec.y.limits.empty()) frame_spec.y.limits = limits_of(bars);
  const PlotFrame frame(context, frame_spec, view);
  Spans frames{.color = context.theme.colors.accent, .kind = Spans::Kind::Framed};
  if (spec.selected >= 0) frames.ranges.push_back({spec.selected - 0.5, spec.selected + 0.5});
  const MarkHit hit = draw_marks(context, frame, {frames, mark});
  if (mark.companions) name_companions(context, frame, spec, bars);
  return hit;
}

}  // namespace app::plot
