// The whole recording in a strip. Summed once per run and width, from as many folds as pixels.
#include <algorithm>

#include "app/gui/plot/plot_text.h"
#include "app/gui/plot/timeline_lane_kinds.h"
#include "app/gui/plot/timeline_plot.h"

namespace app::plot {

void TimelineMinimap::add_up(const TimelineLanes& lanes, int pixels) {
  busy_.assign(static_cast<std::size_t>(pixels), 0.0F);
  const double pixel_ns = lanes.limits.span() / pixels;
  std::size_t rows = 0;
  for (const profiling::TimelineLane& lane : lanes.lanes) {
    // Spans of replays would count the work of their nodes twice.
    const LaneTraits& traits = traits_of(lane.kind);
    if (traits.sums_others || !traits.records) continue;
    rows += lane.rows.size();
    for (const profiling::TimelineLod& row : lane.rows) {
      for (const profiling::TimelineSegment& segment :
           row.query(static_cast<std::int64_t>(lanes.limits.min),
                     static_cast<std::int64_t>(lanes.limits.max), pixels)) {
        const double from = (static_cast<double>(segment.begin_ns) - lanes.limits.min) / pixel_ns;
        const double to = (static_cast<double>(segment.end_ns) - lanes.limits.min) / pixel_ns;
        const int first = std::clamp(static_cast<int>(from), 0, pixels - 1);
        const int last = std::clamp(static_cast<int>(to), first, pixels - 1);
        const double share = static_cast<double>(segment.busy_ns) / (pixel_ns * (last - first + 1));
        for (int i = first; i <= last; ++i) {
          busy_[static_cast<std::size_t>(i)] += static_cast<float>(share);
        }
      }
    }
  }
  // Relative to the busiest pixel: mostly idle recordings would be a flat line otherwise.
  const float most = rows == 0 ? 0.0F : *std::max_element(busy_.begin(), busy_.end());
  for (float& busy : busy_) busy = most > 0.0F ? busy / most : 0.0F;
}

int TimelineMinimap::draw(const PanelContext& context, const char* id, ImVec2 size,
                          const TimelineLanes& lanes, std::uint64_t generation, PlotView& view) {
  const Theme& theme = context.theme;
  const ImVec2 min = ImGui::GetCursorScreenPos();
  const ImVec2 max(min.x + size.x, min.y + size.y);
  const int pixels = std::max(1, static_cast<int>(size.x));
  if (generation != generation_ || busy_.size() != static_cast<std::size_t>(pixels)) {
    generation_ = generation;
    add_up(lanes, pixels);
    shown_ = static_cast<int>(std::ranges::count_if(busy_, [](float busy) { return busy > 0.0F; }));
  }
  ImGui::InvisibleButton(id, size);
  const AxisMap map{lanes.limits, static_cast<double>(min.x), static_cast<double>(max.x)};
  if (ImGui::IsItemActive()) {
    const double at = map.to_value(static_cast<double>(ImGui::GetIO().MousePos.x));
    const double half = 0.5 * view.x.span();
    view.x = panned({at - half, at + half}, 0.0, lanes.limits);
    view.held = true;
  }
  ImDrawList* draw = ImGui::GetWindowDrawList();
  drawing_.put(*draw, DrawingKey(theme, generation, min, max), [&] {
    draw->AddRectFilled(min, max, faded(theme.colors.window, 0.55F));
    const ImU32 color = faded(theme.colors.dim_text, 0.7F);
    for (int i = 0; i < pixels; ++i) {
      const float busy = busy_[static_cast<std::size_t>(i)];
      if (busy <= 0.0F) continue;
      const float x = min.x + static_cast<float>(i);
      const float height = std::max(1.0F, busy * (size.y - 2.0F));
      draw->AddRectFilled(ImVec2(x, max.y - height), ImVec2(x + 1.0F, max.y), color);
    }
  });
  if (!view.x.empty()) {
    const float left = std::clamp(map.to_pixel(view.x.min), min.x, max.x);
    const float right = std::clamp(map.to_pixel(view.x.max), min.x, max.x);
    const ImVec2 low(std::min(left, max.x - 2.0F), min.y);
    const ImVec2 high(std::max(right, left + 2.0F), max.y);
    draw->AddRectFilled(low, high, faded(theme.colors.accent, 0.18F));
    draw->AddRect(low, high, theme.colors.accent);
  }
  return shown_;
}

}  // namespace app::plot
