// Timeline drawing and read-out.
#include "app/gui/plot/timeline_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"

namespace app::plot {
namespace {

using profiling::TimelineSegment;

constexpr double kSnapPixels = 6.0;

void show_record(const PanelContext& context, const profiling::Activity& activity,
                 const profiling::TimelineLod& row, const TimelineSegment& block) {
  const profiling::ActivityRecord& record = row.records()[block.longest];
  const std::string_view stage = engine::stage_name(record.stage);
  std::vector<ReadOutLine> lines;
  if (block.count > 1) {
    lines.push_back({"records folded here", count_text(block.count), 0});
    lines.push_back({"sum of them", duration_text(static_cast<double>(block.busy_ns)), 0});
    lines.push_back(
        {"they span", duration_text(static_cast<double>(block.end_ns - block.begin_ns)), 0});
  }
  lines.push_back({(block.count > 1) ? "longest of them" : "duration",
                   duration_text(static_cast<double>(record.duration_ns())), 0});
  lines.push_back({"stage", std::string(stage), context.theme.stage(record.stage)});
  lines.push_back({"start", duration_text(static_cast<double>(record.start_ns)), 0});
  lines.push_back(
      {"expert", record.expert < 0 ? "all in one launch" : std::to_string(record.expert), 0});
  lines.push_back({"layer", std::to_string(record.layer), 0});
  lines.push_back({"iteration",
                   record.iteration < 0 ? "set-up or check" : std::to_string(record.iteration), 0});
  if (record.node_id != 0) lines.push_back({"graph node", std::to_string(record.node_id), 0});
  const std::string name =
      record.name < activity.names.size() ? activity.names[record.name] : std::string();
  read_out(context, name.size() > 160 ? short_kernel_name(name) : name, lines);
}

/// The record edge nearest to `time` within a few pixels: a drag rarely means the gap beside a
/// span.
double snapped(const TimelineLanes& lanes, double time, double reach) {
  double best = time;
  double distance = reach;
  const auto consider = [&](double edge) {
    if (std::abs(edge - time) < distance) {
      distance = std::abs(edge - time);
      best = edge;
    }
  };
  // A window of as many pixels as reach on both sides folds as the picture does.
  const auto begin = static_cast<std::int64_t>(std::floor(time - reach));
  const auto end = static_cast<std::int64_t>(std::ceil(time + reach));
  for (const profiling::TimelineLane& lane : lanes.lanes) {
    for (const profiling::TimelineLod& row : lane.rows) {
      for (const TimelineSegment& segment :
           row.query(begin, end, static_cast<int>(2.0 * kSnapPixels))) {
        consider(static_cast<double>(segment.begin_ns));
        consider(static_cast<double>(segment.end_ns));
      }
    }
  }
  return best;
}

void draw_block(const PanelContext& context, const PlotFrame& frame,
                const profiling::Activity& activity, const profiling::TimelineLod& row,
                const TimelineSegment& block, float top, float bottom) {
  const Theme& theme = context.theme;
  const profiling::ActivityRecord& record = row.records()[block.longest];
  const ImU32 color = theme.stage(record.stage);
  const float left = frame.x().to_pixel(static_cast<double>(block.begin_ns));
  const float right = std::max(frame.x().to_pixel(static_cast<double>(block.end_ns)), left + 1.0F);
  ImDrawList* draw = frame.draw();
  draw->AddRectFilled(ImVec2(left, top), ImVec2(right, bottom),
                      (block.count > 1) ? faded(color, 0.8F) : color);
  if (block.count > 1) {
    // A line across tells a fold from a span.
    const float middle = 0.5F * (top + bottom);
    draw->AddLine(ImVec2(left, middle), ImVec2(right, middle), faded(theme.colors.window, 0.7F));
    return;
  }
  // A hairline between neighbours of one stage.
  if (right - left > 4.0F) {
    draw->AddLine(ImVec2(right - 1.0F, top), ImVec2(right - 1.0F, bottom),
                  faded(theme.colors.window, 0.6F));
  }
  const ImFont* font = theme.fonts.label;
  const float visible_left = std::max(left, frame.min().x);
  const float room = std::min(right, frame.max().x) - visible_left - theme.px(6);
  if (room < theme.px(28) || bottom - top < font->FontSize) return;
  std::string name = record.name < activity.names.size()
                         ? short_kernel_name(activity.names[record.name])
                         : std::string(engine::stage_name(record.stage));
  if (record.expert >= 0) name += " e" + std::to_string(record.expert);
  // Every stage colour is light or middle toned: dark ink reads on all of them.
  constexpr ImU32 kInk = IM_COL32(12, 16, 20, 255);
  draw_text(draw, font, ImVec2(visible_left + theme.px(3), 0.5F * (top + bottom - font->FontSize)),
            kInk, fitted(font, name, room));
}

}  // namespace

TimelineResult draw_timeline(const PanelContext& context, const char* id, ImVec2 size,
                             const profiling::Activity& activity, const TimelineLanes& lanes,
                             PlotView& view) {
  TimelineResult result;
  const Theme& theme = context.theme;
  float label_width = 0.0F;
  for (const std::string& label : lanes.labels) {
    label_width = std::max(label_width, text_size(theme.fonts.label, label).x);
  }
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  FrameSpec spec{.id = id,
                 .size = size,
                 .x = {.kind = AxisKind::Nanoseconds,
                       .label = "since the first timed iteration",
                       .limits = lanes.limits,
                       .fit = lanes.timed},
                 .y = {.kind = AxisKind::Number, .label = "", .limits = {0.0, 1.0}, .ticks = false},
                 .selectable = true,
                 .min_span = 20.0,
                 .left_margin = label_width + theme.px(kGapLarge)};
  PlotFrame frame(context, spec, view);
  result.inner_min = frame.min();
  result.inner_max = frame.max();
  const float lane_gap = theme.px(kGapSmall);
  const float room =
      frame.max().y - frame.min().y - lane_gap * static_cast<float>(lanes.lanes.size() + 1);
  const float row_height = std::clamp(
      room / static_cast<float>(std::max<std::size_t>(lanes.rows(), 1)), theme.px(3), theme.px(44));
  const auto view_begin = static_cast<std::int64_t>(std::floor(frame.x().view.min));
  const auto view_end = static_cast<std::int64_t>(std::ceil(frame.x().view.max));
  const int pixels = static_cast<int>(frame.max().x - frame.min().x);
  float top = frame.min().y + lane_gap;
  std::optional<TimelineSegment> hovered;
  const profiling::TimelineLod* hovered_row = nullptr;
  for (std::size_t i = 0; i < lanes.lanes.size(); ++i) {
    const profiling::TimelineLane& lane = lanes.lanes[i];
    const float lane_height = row_height * static_cast<float>(lane.rows.size());
    frame.draw()->PushClipRect(origin, frame.max());
    draw_text(frame.draw(), theme.fonts.label,
              ImVec2(origin.x, top + 0.5F * (std::min(lane_height, theme.px(26)) -
                                             theme.fonts.label->FontSize)),
              theme.colors.dim_text, lanes.labels[i]);
    frame.draw()->PopClipRect();
    for (const profiling::TimelineLod& row : lane.rows) {
      const std::vector<TimelineSegment> blocks = row.query(view_begin, view_end, pixels);
      result.drawn_blocks += blocks.size();
      for (const TimelineSegment& block : blocks) {
        result.visible_records += block.count;
        draw_block(context, frame, activity, row, block, top, top + row_height - 1.0F);
        const float left = frame.x().to_pixel(static_cast<double>(block.begin_ns));
        const float right =
            std::max(frame.x().to_pixel(static_cast<double>(block.end_ns)), left + 2.0F);
        if (frame.hovered() && frame.mouse().y >= top && frame.mouse().y < top + row_height &&
            frame.mouse().x >= left && frame.mouse().x < right) {
          hovered = block;
          hovered_row = &row;
          frame.draw()->AddRect(ImVec2(left, top), ImVec2(right, top + row_height - 1.0F),
                                theme.colors.text);
        }
      }
      top += row_height;
    }
    top += lane_gap;
  }
  if (frame.selection_changed()) {
    result.selection_changed = true;
    if (view.selection) {
      const double reach = kSnapPixels / frame.x().pixels_per_unit();
      const Range snapped_range = between(snapped(lanes, view.selection->min, reach),
                                          snapped(lanes, view.selection->max, reach));
      if (!snapped_range.empty()) view.selection = snapped_range;
    }
  }
  if (view.drag_start) {
    const Range range = between(*view.drag_start, frame.hover_x());
    read_out(context, "", {{"selected", duration_text(range.span()), theme.colors.accent}});
  } else if (hovered) {
    show_record(context, activity, *hovered_row, *hovered);
  }
  return result;
}

}  // namespace app::plot
