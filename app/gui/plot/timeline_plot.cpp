// Which lanes there are, and their drawing.
#include "app/gui/plot/timeline_plot.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/plot/timeline_lane_kinds.h"

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
                const profiling::Activity& activity, const profiling::TimelineLod& row,
                const LaneTraits& lane, const TimelineSegment& block, float top, float bottom) {
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
  std::string name = lane.block_name(activity, block.longest, record);
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
}

/// A row of a lane on the screen.
struct Band {
  const LaneTraits* lane = nullptr;
  const profiling::TimelineLod* row = nullptr;
  std::size_t index = 0;  // of TimelineBlocks::rows
  float top = 0.0F;
  float bottom = 0.0F;  // of its blocks
};

/// Where the lanes lie, from the top.
struct Bands {
  std::vector<Band> bands;
  std::vector<float> lane_tops;  // of the shown lanes
  float row_height = 0.0F;
};

Bands bands_of(const Theme& theme, const PlotFrame& frame, const TimelineLanes& lanes,
               const std::vector<std::size_t>& shown) {
  // The rows of all lanes are counted, regardless of their order here.
  std::vector<std::size_t> first_row(lanes.lanes.size() + 1, 0);
  for (std::size_t i = 0; i < lanes.lanes.size(); ++i) {
    first_row[i + 1] = first_row[i] + lanes.lanes[i].rows.size();
  }
  std::size_t shown_rows = 0;
  for (const std::size_t lane : shown) shown_rows += lanes.lanes[lane].rows.size();
  Bands result;
  // Many lanes leave no room between them.
  const float height = frame.max().y - frame.min().y;
  const float lane_gap =
      std::min(theme.px(kGapSmall), 0.2F * height / static_cast<float>(shown.size() + 1));
  const float room = height - lane_gap * static_cast<float>(shown.size() + 1);
  result.row_height = std::clamp(room / static_cast<float>(std::max<std::size_t>(shown_rows, 1)),
                                 1.0F, theme.px(44));
  float top = frame.min().y + lane_gap;
  for (const std::size_t i : shown) {
    const profiling::TimelineLane& lane = lanes.lanes[i];
    result.lane_tops.push_back(top);
    std::size_t index = first_row[i];
    for (const profiling::TimelineLod& row : lane.rows) {
      result.bands.push_back({&traits_of(lane.kind), &row, index++, top,
                              top + std::max(result.row_height - 1.0F, 1.0F)});
      top += result.row_height;
    }
    top += lane_gap;
  }
  return result;
}

/// Left of the frame, as many as stay apart: lanes may be lower than a line of text.
std::vector<LaneLabel> draw_lane_labels(const Theme& theme, const PlotFrame& frame, ImVec2 origin,
                                        const TimelineSpec& spec, const TimelineLanes& lanes,
                                        const std::vector<std::size_t>& shown, const Bands& bands) {
  std::vector<LaneLabel> labels;
  const float line = theme.fonts.label->FontSize;
  float labelled_to = frame.min().y;
  frame.open_clip();
  frame.draw()->PushClipRect(origin, frame.max(), true);
  for (std::size_t at = 0; at < shown.size(); ++at) {
    const std::size_t lane = shown[at];
    const float lane_height = bands.row_height * static_cast<float>(lanes.lanes[lane].rows.size());
    // Next to its lane, but never beyond the frame: the first and the last may be lower than a
    // line.
    const float wanted = bands.lane_tops[at] + 0.5F * (std::min(lane_height, theme.px(26)) - line);
    const float top = std::max(std::min(wanted, frame.max().y - line), frame.min().y);
    if (top < labelled_to) continue;
    labelled_to = top + line;
    draw_text(frame.draw(), theme.fonts.label, ImVec2(origin.x, top), theme.colors.dim_text,
              lanes.labels[lane]);
    const ImVec2 low(origin.x, top);
    const ImVec2 high(frame.min().x - theme.px(2), top + line);
    if (spec.order != nullptr && spec.order->pinned(lanes.labels[lane])) {
      frame.draw()->AddRectFilled(ImVec2(high.x - theme.px(3), low.y), high, theme.colors.accent,
                                  theme.px(1));
    }
    labels.push_back({lane, low, high});
  }
  frame.draw()->PopClipRect();
  frame.close_clip();
  return labels;
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
    for (const TimelineSegment& block : drawn.rows[band.index]) {
      draw_block(context, frame, activity, *band.row, *band.lane, block, block_top, band.bottom);
    }
  }
}

std::uint64_t in_order(const std::vector<std::size_t>& shown) {
  std::uint64_t mixed = shown.size();
  for (const std::size_t lane : shown) mixed = mixed * 1'000'003 + lane + 1;
  return mixed;
}

/// What is under the mouse.
struct Hover {
  const Band* band = nullptr;
  std::optional<TimelineSegment> block{};
};

Hover hover_of(const PlotFrame& frame, const Bands& bands, const TimelineBlocks& drawn) {
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

/// Fits the block under the mouse, or the timed part.
void fit_block(const TimelineLanes& lanes, const Hover& hover, PlotView& view) {
  // The view is the frame's until the next one.
  view.x = lanes.timed.empty() ? lanes.limits : clamped(lanes.timed, lanes.limits);
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
  } else if (band.lane->curve) {
    show_live_memory(context, lanes.memory, frame.hover_x());
  } else {
    show_gap(context, frame, activity, *band.row, *band.lane, 0.5F * (band.top + band.bottom));
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
                            const profiling::EventSpans& events, LaneChoice choice) {
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
      result.lanes = profiling::lanes_by_expert(activity.records);
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
  std::vector<std::size_t> shown;
  if (spec.order != nullptr) {
    shown = spec.order->shown(lanes.labels);
  } else {
    shown.resize(lanes.lanes.size());
    std::iota(shown.begin(), shown.end(), std::size_t{0});
  }
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  FrameSpec frame_spec{
      .id = spec.id,
      .size = spec.size,
      .x = {.kind = AxisKind::Nanoseconds,
            .label = "since the first timed iteration",
            .limits = lanes.limits,
            .fit = lanes.timed},
      .y = {.kind = AxisKind::Number, .label = "", .limits = {0.0, 1.0}, .ticks = false},
      .selectable = true,
      .items = true,
      .min_span = 10.0,
      .left_margin = label_width + theme.px(kGapLarge)};
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
      outline(context, frame, activity.records[*spec.chosen], band.top, band.bottom);
    }
  }
  const Hover hover = hover_of(frame, bands, drawn);
  draw_hovered(theme, frame, hover);
  if (spec.hits != nullptr) mark_hits(context, frame, *spec.hits, view_begin, view_end);
  result.clicked = frame.clicked();
  if (result.clicked && hover.block &&
      hover.band->row->records().data() == activity.records.data()) {
    result.record = hover.block->longest;
  }
  if (frame.middle_clicked()) fit_block(lanes, hover, view);
  if (frame.selection_changed()) {
    result.selection_changed = true;
    snap_selection(frame, lanes, view);
  }
  draw_tooltip(context, frame, activity, lanes, hover, view);
  return result;
}

void bring_into_view(const profiling::ActivityRecord& record, const TimelineLanes& lanes,
                     PlotView& view) {
  const auto begin = static_cast<double>(record.start_ns);
  const auto end = static_cast<double>(record.end_ns);
  if (begin >= view.x.min && end <= view.x.max) return;
  const double span = std::max(view.x.span(), 1.2 * (end - begin));
  const double middle = 0.5 * (begin + end);
  view.x = clamped({middle - 0.5 * span, middle + 0.5 * span}, lanes.limits);
  view.held = true;
}

}  // namespace app::plot
