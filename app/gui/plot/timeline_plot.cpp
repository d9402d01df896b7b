// Which lanes there are, and the drawing of their blocks.
#include "app/gui/plot/timeline_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/plot/timeline_bands.h"
#include "app/gui/plot/timeline_lane_kinds.h"
#include "app/gui/plot/timeline_stamps.h"

namespace app::plot {
namespace {

using profiling::TimelineSegment;

constexpr double kSnapPixels = 6.0;

/// The record edge nearest to `time` within a few pixels: a drag is rarely meant to end in the gap
/// next to a span.
double snapped(const TimelineLanes& lanes, double time, double reach) {
  double best = time;
  double distance = reach;
  const auto consider = [&](double edge) {
    if (std::abs(edge - time) < distance) {
      distance = std::abs(edge - time);
      best = edge;
    }
  };
  // A window of as many pixels on both sides folds in the same way as the picture.
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
                const profiling::Activity& activity, const profiling::WorkLabels& names,
                const profiling::TimelineLod& row, const LaneTraits& lane,
                const TimelineSegment& block, float top, float bottom) {
  const Theme& theme = context.theme;
  const profiling::ActivityRecord& record = row.records()[block.longest];
  const ImU32 color = lane.stage_colors ? theme.stage(record.stage) : theme.colors.accent;
  const float left = frame.x().to_pixel(static_cast<double>(block.begin_ns));
  const float right = std::max(frame.x().to_pixel(static_cast<double>(block.end_ns)), left + 1.0F);
  ImDrawList* draw = frame.draw();
  draw->AddRectFilled(ImVec2(left, top), ImVec2(right, bottom),
                      (block.count > 1) ? faded(color, 0.8F) : color);
  if (block.count > 1) {
    // A line across distinguishes a fold from a span. A box, since an antialiased line costs ten of
    // them.
    const float middle = std::floor(0.5F * (top + bottom));
    draw->AddRectFilled(ImVec2(left, middle), ImVec2(right, middle + 1.0F),
                        faded(theme.colors.window, 0.7F));
    return;
  }
  // A hairline between neighbours of the same stage.
  if (right - left > 4.0F) {
    draw->AddRectFilled(ImVec2(right - 1.0F, top), ImVec2(right, bottom),
                        faded(theme.colors.window, 0.6F));
  }
  const ImFont* font = theme.fonts.label;
  const float visible_left = std::max(left, frame.min().x);
  const float room = std::min(right, frame.max().x) - visible_left - theme.px(6);
  if (room < theme.px(28) || bottom - top < font->FontSize) return;
  std::string name = lane.block_name(context, activity, names, block.longest, record);
  if (record.expert >= 0) name += " e" + std::to_string(record.expert);
  // Every stage colour is light or mid-toned: dark ink is readable on all of them.
  constexpr ImU32 kInk = IM_COL32(12, 16, 20, 255);
  draw_text(draw, font, ImVec2(visible_left + theme.px(3), 0.5F * (top + bottom - font->FontSize)),
            kInk, fitted(font, name, room));
}

void mark_hits(const PanelContext& context, const PlotFrame& frame,
               const profiling::TimelineLod& hits, std::int64_t begin, std::int64_t end) {
  const int pixels = static_cast<int>(frame.max().x - frame.min().x);
  const ImU32 color = context.theme.colors.warn;
  const float height = context.theme.px(kGapSmall);
  for (const TimelineSegment& hit : hits.query(begin, end, pixels)) {
    const float left = frame.x().to_pixel(static_cast<double>(hit.begin_ns));
    const float right = std::max(frame.x().to_pixel(static_cast<double>(hit.end_ns)), left + 2.0F);
    frame.draw()->AddRectFilled(ImVec2(left, frame.min().y), ImVec2(right, frame.min().y + height),
                                color);
  }
}

/// Around the record anywhere, wide enough to be visible at any zoom.
void outline(const PanelContext& context, const PlotFrame& frame,
             const profiling::ActivityRecord& record, float top, float bottom) {
  float left = frame.x().to_pixel(static_cast<double>(record.start_ns));
  float right = frame.x().to_pixel(static_cast<double>(record.end_ns));
  if (right < frame.min().x || left > frame.max().x) return;
  const float wanted = context.theme.px(4);
  if (right - left < wanted) {
    left = 0.5F * (left + right - wanted);
    right = left + wanted;
  }
  frame.draw()->AddRect(ImVec2(left, top), ImVec2(right, bottom), context.theme.colors.text, 0.0F,
                        0, context.theme.px(2));
}

bool holds(const profiling::TimelineLod& row, const profiling::Activity& activity,
           std::uint32_t record) {
  return row.records().data() == activity.records.data() &&
         std::binary_search(row.members().begin(), row.members().end(), record);
}

void ask(const TimelineLanes& lanes, const TimelineBlocks::Asked& wanted, TimelineBlocks& drawn) {
  if (drawn.asked == wanted && drawn.rows.size() == lanes.rows()) return;
  drawn.rows.clear();
  drawn.records.clear();
  for (const profiling::TimelineLane& lane : lanes.lanes) {
    for (const profiling::TimelineLod& row : lane.rows) {
      drawn.rows.push_back(row.query(wanted.begin_ns, wanted.end_ns, wanted.pixels));
      std::size_t count = 0;
      for (const TimelineSegment& block : drawn.rows.back()) count += block.count;
      drawn.records.push_back(count);
    }
  }
  drawn.asked = wanted;
  drawn.stamped = stamped_launches(lanes, drawn);
}

/// An arrow from the host's stages, or from the bottom of the plot if they are not shown.
void draw_launch(const PanelContext& context, const PlotFrame& frame, const Bands& bands,
                 const Band& to, const profiling::ActivityRecord& record,
                 const LaunchArrow& launch) {
  const auto host = std::ranges::find_if(
      bands.bands, [](const Band& band) { return band.lane->kind == profiling::LaneKind::Stages; });
  const auto middle = [](const Band& band) { return 0.5F * (band.top + band.bottom); };
  const ImVec2 from(frame.x().to_pixel(launch.launched_ns),
                    host == bands.bands.end() ? frame.max().y : middle(*host));
  const ImVec2 tip(frame.x().to_pixel(static_cast<double>(record.start_ns)), middle(to));
  const Theme& theme = context.theme;
  const ImU32 color = launch.exact ? theme.colors.text : theme.colors.dim_text;
  ImDrawList* draw = frame.draw();
  draw->AddCircleFilled(from, theme.px(3), color);
  draw->AddLine(from, tip, color, theme.px(1.5F));
  const float length = std::hypot(tip.x - from.x, tip.y - from.y);
  if (length < 1.0F) return;
  const ImVec2 along((tip.x - from.x) / length, (tip.y - from.y) / length);
  const float size = theme.px(7);
  const ImVec2 base(tip.x - size * along.x, tip.y - size * along.y);
  const ImVec2 across(-0.5F * size * along.y, 0.5F * size * along.x);
  draw->AddTriangleFilled(tip, ImVec2(base.x + across.x, base.y + across.y),
                          ImVec2(base.x - across.x, base.y - across.y), color);
}

/// Everything that does not follow the mouse.
void draw_bands(const PanelContext& context, const PlotFrame& frame,
                const profiling::Activity& activity, const TimelineLanes& lanes, const Bands& bands,
                const TimelineBlocks& drawn) {
  for (const Band& band : bands.bands) {
    float block_top = band.top;
    if (band.lane->curve) {
      draw_memory_curve(context, frame, lanes.memory, band.top, band.bottom);
      // The curve keeps the row; its events are along the bottom.
      block_top = std::max(band.top, band.bottom - context.theme.px(4));
    }
    draw_stamped(context, frame, activity, lanes, band, drawn);
    for (const TimelineSegment& block : drawn.rows[band.index]) {
      draw_block(context, frame, activity, lanes.names, *band.row, *band.lane, block, block_top,
                 band.bottom);
    }
  }
}

/// What is under the mouse.
struct Hover {
  const Band* band = nullptr;
  std::optional<TimelineSegment> block{};
  std::optional<StampedHover> stamped{};  // of no block
};

Hover hover_of(const PlotFrame& frame, const profiling::Activity& activity,
               const TimelineLanes& lanes, const Bands& bands, const TimelineBlocks& drawn) {
  Hover hover;
  if (!frame.hovered()) return hover;
  const ImVec2 mouse = frame.mouse();
  for (const Band& band : bands.bands) {
    if (mouse.y < band.top || mouse.y >= band.top + bands.row_height) continue;
    hover.band = &band;
    for (const TimelineSegment& block : drawn.rows[band.index]) {
      const float left = frame.x().to_pixel(static_cast<double>(block.begin_ns));
      const float right =
          std::max(frame.x().to_pixel(static_cast<double>(block.end_ns)), left + 2.0F);
      if (mouse.x >= left && mouse.x < right) hover.block = block;
    }
    if (!hover.block) hover.stamped = stamped_at(activity, lanes, band, drawn, frame.hover_x());
  }
  return hover;
}

void draw_hovered(const Theme& theme, const PlotFrame& frame, const Hover& hover) {
  if (!hover.block) return;
  const float left = frame.x().to_pixel(static_cast<double>(hover.block->begin_ns));
  const float right =
      std::max(frame.x().to_pixel(static_cast<double>(hover.block->end_ns)), left + 2.0F);
  frame.draw()->AddRect(ImVec2(left, hover.band->top), ImVec2(right, hover.band->bottom),
                        theme.colors.text);
}

Axis time_axis(const TimelineLanes& lanes) {
  return {.kind = AxisKind::Nanoseconds,
          .limits = lanes.limits,
          .fit = lanes.timed,
          .first = lanes.step};
}

/// Fits the block under the mouse, or what is shown first.
void fit_block(const TimelineLanes& lanes, const Hover& hover, PlotView& view) {
  // The view is the frame's until the next one.
  view.x = shown_first(time_axis(lanes));
  view.held = hover.block.has_value();
  if (!hover.block) return;
  const Range block{static_cast<double>(hover.block->begin_ns),
                    static_cast<double>(hover.block->end_ns)};
  view.x = clamped(padded(block, 0.1), lanes.limits);
}

void snap_selection(const PlotFrame& frame, const TimelineLanes& lanes, PlotView& view) {
  if (!view.selection) return;
  const double reach = kSnapPixels / frame.x().pixels_per_unit();
  const Range snapped_range = between(snapped(lanes, view.selection->min, reach),
                                      snapped(lanes, view.selection->max, reach));
  if (!snapped_range.empty()) view.selection = snapped_range;
}

void draw_tooltip(const PanelContext& context, const PlotFrame& frame,
                  const profiling::Activity& activity, const TimelineLanes& lanes,
                  const Hover& hover, const PlotView& view) {
  if (view.drag_start) {
    const Range range = between(*view.drag_start, frame.hover_x());
    return read_out(context, "",
                    {{"selected", duration_text(range.span()), context.theme.colors.accent}});
  }
  if (hover.band == nullptr) return;
  const Band& band = *hover.band;
  if (hover.block) {
    band.lane->show_block(context, activity, lanes.memory, *hover.block,
                          band.row->records()[hover.block->longest]);
  } else if (hover.stamped) {
    show_stamped(context, activity, lanes.stamped->step, *hover.stamped);
  } else if (band.lane->curve) {
    show_live_memory(context, lanes.memory, frame.hover_x());
  } else {
    show_gap(context, frame, activity, lanes.names, *band.row, *band.lane,
             0.5F * (band.top + band.bottom));
  }
}

/// Host spans have no memory events.
bool ran_on_a_device(const profiling::Activity& activity) {
  return std::ranges::any_of(activity.records, [](const profiling::ActivityRecord& record) {
    return record.kind != profiling::ActivityKind::HostSpan;
  });
}

}  // namespace

std::size_t TimelineLanes::rows() const {
  std::size_t sum = 0;
  for (const profiling::TimelineLane& lane : lanes) sum += lane.rows.size();
  return sum;
}

std::size_t TimelineLanes::memory_bytes() const {
  std::size_t bytes = 0;
  for (const profiling::TimelineLane& lane : lanes) {
    for (const profiling::TimelineLod& row : lane.rows) bytes += row.memory_bytes();
  }
  return bytes;
}

TimelineLanes make_timeline(const profiling::Activity& activity,
                            std::span<const profiling::ActivityRecord> spans,
                            const profiling::EventSpans& events,
                            const profiling::StampedSpans& stamped, LaneChoice choice) {
  TimelineLanes result;
  result.choice = choice;
  switch (choice) {
    case LaneChoice::Streams:
      result.lanes = profiling::lanes_by_stream(activity.records);
      break;
    case LaneChoice::Replays:
      result.lanes = profiling::lanes_by_replay(activity.records, spans);
      break;
    case LaneChoice::Experts:
      result.lanes = profiling::lanes_by_expert(activity.records, &stamped);
      result.stamped = &stamped;
      break;
  }
  if (choice != LaneChoice::Experts) {
    for (profiling::TimelineLane& lane : profiling::lanes_of_events(activity, events)) {
      result.lanes.push_back(std::move(lane));
    }
    result.memory = make_memory_curve(activity);
    if (result.memory.empty() && ran_on_a_device(activity)) {
      profiling::TimelineLane& none = result.lanes.emplace_back();
      none.kind = profiling::LaneKind::Memory;
      none.rows.emplace_back(std::span<const profiling::ActivityRecord>(events.memory),
                             std::vector<std::uint32_t>());
    }
  }
  for (const profiling::TimelineLane& lane : result.lanes) {
    result.labels.push_back(traits_of(lane.kind).label(lane, activity));
    result.groups.emplace_back(traits_of(lane.kind).group);
  }
  return result;
}

TimelineResult draw_timeline(const PanelContext& context, const TimelineSpec& spec,
                             const profiling::Activity& activity, const TimelineLanes& lanes,
                             PlotView& view, TimelineBlocks& drawn) {
  TimelineResult result;
  const Theme& theme = context.theme;
  float label_width = 0.0F;
  for (const std::string& label : lanes.labels) {
    label_width = std::max(label_width, text_size(theme.fonts.label, label).x);
  }
  const std::vector<LaneLine> shown =
      (spec.order != nullptr ? *spec.order : LaneOrder()).lines(lanes.labels, lanes.groups);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  FrameSpec frame_spec{
      .id = spec.id,
      .size = spec.size,
      .x = time_axis(lanes),
      .y = {.kind = AxisKind::Number, .label = "", .limits = {0.0, 1.0}, .ticks = false},
      .selectable = true,
      .items = true,
      .min_span = 10.0,
      .left_margin = label_width + theme.px(kGapLarge),
      .right_margin = spec.right_margin};
  PlotFrame frame(context, frame_spec, view);
  result.left = frame.min().x;
  result.right = frame.max().x;
  const auto view_begin = static_cast<std::int64_t>(std::floor(frame.x().view.min));
  const auto view_end = static_cast<std::int64_t>(std::ceil(frame.x().view.max));
  const int pixels = static_cast<int>(frame.max().x - frame.min().x);
  ask(lanes, {spec.generation, view_begin, view_end, pixels}, drawn);
  const Bands bands = bands_of(theme, frame, lanes, shown);
  result.labels = draw_lane_labels(theme, frame, origin, spec, lanes, shown, bands);
  drawn.drawing.put(
      *frame.draw(),
      DrawingKey(theme, spec.generation, frame.x().view, frame.min(), frame.max(), in_order(shown)),
      [&] { draw_bands(context, frame, activity, lanes, bands, drawn); });
  for (const Band& band : bands.bands) {
    result.drawn_blocks += drawn.rows[band.index].size();
    if (band.lane->records) result.visible_records += drawn.records[band.index];
    if (spec.chosen && holds(*band.row, activity, *spec.chosen)) {
      const profiling::ActivityRecord& record = activity.records[*spec.chosen];
      outline(context, frame, record, band.top, band.bottom);
      if (spec.launch) draw_launch(context, frame, bands, band, record, *spec.launch);
    }
  }
  result.stamped_launches = drawn.stamped.size();
  const Hover hover = hover_of(frame, activity, lanes, bands, drawn);
  if (frame.hovered()) result.group = group_at(frame.mouse().y, shown, bands);
  draw_hovered(theme, frame, hover);
  if (spec.hits != nullptr) mark_hits(context, frame, *spec.hits, view_begin, view_end);
  result.clicked = frame.clicked();
  if (result.clicked && hover.block && hover.band->lane->list) {
    result.event = TimelineEvent{*hover.band->lane->list, hover.block->longest};
  }
  if (result.clicked && hover.stamped) {
    result.event = TimelineEvent{EventList::Records, hover.stamped->launch.record};
  }
  if (frame.middle_clicked()) fit_block(lanes, hover, view);
  if (frame.selection_changed()) {
    result.selection_changed = true;
    snap_selection(frame, lanes, view);
  }
  draw_tooltip(context, frame, activity, lanes, hover, view);
  return result;
}

std::vector<std::size_t> lanes_with(const TimelineLanes& lanes, const profiling::Activity& activity,
                                    std::uint32_t record) {
  std::vector<std::size_t> with;
  for (std::size_t lane = 0; lane < lanes.lanes.size(); ++lane) {
    if (std::ranges::any_of(lanes.lanes[lane].rows, [&](const profiling::TimelineLod& row) {
          return holds(row, activity, record);
        })) {
      with.push_back(lane);
    }
  }
  return with;
}

void bring_into_view(const profiling::ActivityRecord& record, const TimelineLanes& lanes,
                     bool legible, PlotView& view) {
  const auto begin = static_cast<double>(record.start_ns);
  const auto end = static_cast<double>(record.end_ns);
  // Narrower than this part of the view it could not be told from its neighbours.
  constexpr double kLeastShare = 0.01;
  const double least = std::max(end - begin, 1.0);
  const double widest = legible ? least / kLeastShare : std::numeric_limits<double>::infinity();
  const bool seen = begin >= view.x.min && end <= view.x.max;
  if (seen && view.x.span() <= widest) return;
  const double span = std::clamp(view.x.span(), 1.2 * least, widest);
  const double middle = 0.5 * (begin + end);
  view.x = clamped({middle - 0.5 * span, middle + 0.5 * span}, lanes.limits);
  view.held = true;
}

}  // namespace app::plot
