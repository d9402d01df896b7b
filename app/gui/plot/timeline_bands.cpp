#include "app/gui/plot/timeline_bands.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/gui/plot/plot_text.h"

namespace app::plot {
namespace {

// A few lanes fill a maximized card; more of it would only make bars into walls.
constexpr float kHighestRow = 120;

}  // namespace

float heading_height(const Theme& theme) { return theme.fonts.label->FontSize + theme.px(2); }

Bands bands_of(const Theme& theme, const PlotFrame& frame, const TimelineLanes& lanes,
               const std::vector<LaneLine>& shown) {
  // The rows of all lanes are counted, regardless of their order here.
  std::vector<std::size_t> first_row(lanes.lanes.size() + 1, 0);
  for (std::size_t i = 0; i < lanes.lanes.size(); ++i) {
    first_row[i + 1] = first_row[i] + lanes.lanes[i].rows.size();
  }
  std::size_t shown_rows = 0;
  std::size_t headings = 0;
  for (const LaneLine& line : shown) {
    if (line.heading) ++headings;
    if (!line.heading) shown_rows += lanes.lanes[line.lane].rows.size();
  }
  Bands result;
  result.heading_height = heading_height(theme);
  const float height =
      frame.max().y - frame.min().y - result.heading_height * static_cast<float>(headings);
  // Many lanes leave no room between them.
  const float lane_gap =
      std::min(theme.px(kGapSmall), 0.2F * height / static_cast<float>(shown.size() + 1));
  const float room = height - lane_gap * static_cast<float>(shown.size() + 1);
  result.row_height = std::clamp(room / static_cast<float>(std::max<std::size_t>(shown_rows, 1)),
                                 1.0F, theme.px(kHighestRow));
  float top = frame.min().y + lane_gap;
  for (const LaneLine& line : shown) {
    result.tops.push_back(top);
    if (line.heading) {
      top += result.heading_height + lane_gap;
      continue;
    }
    const profiling::TimelineLane& lane = lanes.lanes[line.lane];
    std::size_t index = first_row[line.lane];
    for (const profiling::TimelineLod& row : lane.rows) {
      result.bands.push_back({.lane = &traits_of(lane.kind),
                              .of = &lane,
                              .row = &row,
                              .first_row = &row == lane.rows.data(),
                              .index = index++,
                              .top = top,
                              .bottom = top + std::max(result.row_height - 1.0F, 1.0F)});
      top += result.row_height;
    }
    top += lane_gap;
  }
  return result;
}

std::string group_at(float y, const std::vector<LaneLine>& shown, const Bands& bands) {
  std::string group;
  bool under_heading = false;
  for (std::size_t i = 0; i < shown.size() && bands.tops[i] <= y; ++i) {
    if (shown[i].heading) under_heading = true;
    if (shown[i].group != group && !shown[i].heading) under_heading = false;
    group = shown[i].group;
  }
  return under_heading ? group : "";
}

std::uint64_t in_order(const std::vector<LaneLine>& shown) {
  std::uint64_t mixed = shown.size();
  for (const LaneLine& line : shown) {
    mixed = mixed * 1'000'003 + 2 * line.lane + (line.heading ? 1 : 2);
  }
  return mixed;
}

namespace {

/// A triangle that points down while the group is open, its name, and a strip across the lanes.
LaneLabel draw_heading(const Theme& theme, const PlotFrame& frame, ImVec2 at,
                       const LaneLine& line) {
  ImDrawList* draw = frame.draw();
  const ImFont* font = theme.fonts.label;
  const float side = theme.px(6);
  const float middle = at.y + 0.5F * font->FontSize;
  const float left = at.x + theme.px(1);
  if (line.collapsed) {
    draw->AddTriangleFilled(ImVec2(left, middle - 0.6F * side), ImVec2(left + side, middle),
                            ImVec2(left, middle + 0.6F * side), theme.colors.dim_text);
  } else {
    draw->AddTriangleFilled(
        ImVec2(left, middle - 0.4F * side), ImVec2(left + 1.2F * side, middle - 0.4F * side),
        ImVec2(left + 0.6F * side, middle + 0.6F * side), theme.colors.dim_text);
  }
  draw_text(draw, font, ImVec2(left + 2.0F * side, at.y), theme.colors.text, line.group);
  draw->AddRectFilled(ImVec2(frame.min().x, at.y), ImVec2(frame.max().x, at.y + font->FontSize),
                      faded(theme.colors.line, 0.35F));
  if (line.collapsed) {
    draw_text(draw, font, ImVec2(frame.min().x + theme.px(kGap), at.y), theme.colors.dim_text,
              fmt::format("{} lanes", line.lanes));
  }
  // As wide as its name needs, over the lanes if that is more than their labels have.
  const float width = 2.0F * side + text_size(font, line.group).x;
  return {line, at,
          ImVec2(std::max(frame.min().x - theme.px(2), left + width), at.y + font->FontSize)};
}

}  // namespace

std::vector<LaneLabel> draw_lane_labels(const Theme& theme, const PlotFrame& frame, ImVec2 origin,
                                        const TimelineSpec& spec, const TimelineLanes& lanes,
                                        const std::vector<LaneLine>& shown, const Bands& bands) {
  std::vector<LaneLabel> labels;
  const float line = theme.fonts.label->FontSize;
  float labelled_to = frame.min().y;
  frame.open_clip();
  frame.draw()->PushClipRect(origin, frame.max(), true);
  for (std::size_t at = 0; at < shown.size(); ++at) {
    const std::size_t lane = shown[at].lane;
    const float lane_height =
        shown[at].heading ? bands.heading_height
                          : bands.row_height * static_cast<float>(lanes.lanes[lane].rows.size());
    // Next to its lane, but never beyond the frame: the first and the last may be lower than a
    // line.
    const float wanted = bands.tops[at] + 0.5F * (std::min(lane_height, theme.px(26)) - line);
    const float top = std::max(std::min(wanted, frame.max().y - line), frame.min().y);
    if (top < labelled_to) continue;
    labelled_to = top + line;
    if (shown[at].heading) {
      labels.push_back(draw_heading(theme, frame, ImVec2(origin.x, top), shown[at]));
      continue;
    }
    draw_text(frame.draw(), theme.fonts.label, ImVec2(origin.x, top), theme.colors.dim_text,
              lanes.labels[lane]);
    const ImVec2 low(origin.x, top);
    const ImVec2 high(frame.min().x - theme.px(2), top + line);
    if (spec.order != nullptr && spec.order->pinned(lanes.labels[lane])) {
      frame.draw()->AddRectFilled(ImVec2(high.x - theme.px(3), low.y), high, theme.colors.accent,
                                  theme.px(1));
    }
    labels.push_back({shown[at], low, high});
  }
  frame.draw()->PopClipRect();
  frame.close_clip();
  return labels;
}

}  // namespace app::plot
