// Timeline drawing and read-out.
#include "app/gui/plot/timeline_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"

namespace app::plot {
namespace {

using profiling::TimelineSegment;

constexpr double kSnapPixels = 6.0;

/// What the records of a row stand for.
enum class RowKind { Work, Iterations, HostEvents, MemoryEvents };

RowKind kind_of(const profiling::TimelineLane& lane) {
  switch (lane.kind) {
    case profiling::LaneKind::Replays:
      return RowKind::Iterations;
    case profiling::LaneKind::Stages:
    case profiling::LaneKind::Overhead:
      return RowKind::HostEvents;
    case profiling::LaneKind::Memory:
      return RowKind::MemoryEvents;
    default:
      return RowKind::Work;
  }
}

std::string name_of(const profiling::Activity& activity, std::uint32_t name) {
  return name < activity.names.size() ? activity.names[name] : std::string();
}

std::string name_of(const profiling::Activity& activity, RowKind kind, std::uint32_t index,
                    const profiling::ActivityRecord& record) {
  switch (kind) {
    case RowKind::Iterations:
      return std::to_string(record.iteration + (activity.nodes.empty() ? 0 : 1));
    case RowKind::MemoryEvents: {
      const profiling::MemoryEvent& event = activity.memory_events[index];
      return std::string(
          profiling::kMemoryOperationNames[static_cast<std::size_t>(event.operation)]);
    }
    case RowKind::HostEvents:
    case RowKind::Work:
      break;
  }
  return short_kernel_name(name_of(activity, record.name));
}

void add_place(std::vector<ReadOutLine>& lines, const profiling::ActivityRecord& record) {
  lines.push_back({"start", duration_text(static_cast<double>(record.start_ns)), 0});
  lines.push_back({"stage", std::string(engine::stage_name(record.stage)), 0});
  lines.push_back({"iteration",
                   record.iteration < 0 ? "set-up or check" : std::to_string(record.iteration), 0});
}

void show_memory_event(const PanelContext& context, const profiling::Activity& activity,
                       const MemoryCurve& curve, const TimelineSegment& block,
                       const profiling::ActivityRecord& record) {
  const profiling::MemoryEvent& event = activity.memory_events[block.longest];
  std::vector<ReadOutLine> lines;
  if (block.count > 1) lines.push_back({"events folded here", count_text(block.count), 0});
  lines.push_back({"bytes", count_text(event.bytes), 0});
  lines.push_back({"address", fmt::format("{:#x}", event.address), 0});
  if (event.pool != 0) {
    lines.push_back({"pool", fmt::format("{:#x}", event.pool), 0});
    if (event.pool_bytes != 0) {
      lines.push_back(
          {"in use of the pool",
           fmt::format("{} of {}", count_text(event.pool_used), count_text(event.pool_bytes)), 0});
    }
  }
  for (ReadOutLine& line : live_lines(curve, block.longest)) lines.push_back(std::move(line));
  add_place(lines, record);
  read_out(context,
           fmt::format("{}{}",
                       profiling::kMemoryOperationNames[static_cast<std::size_t>(event.operation)],
                       event.stream_ordered ? ", in stream order" : ""),
           lines);
}

/// Between two events.
void show_live_memory(const PanelContext& context, const MemoryCurve& curve, double time) {
  const std::size_t index = curve.before(time);
  if (index < curve.time_ns.size()) read_out(context, "", live_lines(curve, index));
}

void show_host_event(const PanelContext& context, const profiling::Activity& activity,
                     const TimelineSegment& block, const profiling::ActivityRecord& record) {
  const profiling::HostEvent& event = activity.host_events[block.longest];
  std::vector<ReadOutLine> lines;
  if (block.count > 1) lines.push_back({"events folded here", count_text(block.count), 0});
  lines.push_back(
      {"kind", std::string(profiling::kHostEventNames[static_cast<std::size_t>(event.kind)]), 0});
  lines.push_back({"duration", duration_text(static_cast<double>(record.duration_ns())), 0});
  add_place(lines, record);
  read_out(context, name_of(activity, event.name), lines);
}

void show_record(const PanelContext& context, const profiling::Activity& activity,
                 const MemoryCurve& curve, const profiling::TimelineLod& row, RowKind kind,
                 const TimelineSegment& block) {
  const profiling::ActivityRecord& record = row.records()[block.longest];
  if (kind == RowKind::HostEvents) return show_host_event(context, activity, block, record);
  if (kind == RowKind::MemoryEvents) {
    return show_memory_event(context, activity, curve, block, record);
  }
  std::vector<ReadOutLine> lines;
  if (block.count > 1) {
    lines.push_back({"records folded here", count_text(block.count), 0});
    lines.push_back({"sum of them", duration_text(static_cast<double>(block.busy_ns)), 0});
    lines.push_back(
        {"they span", duration_text(static_cast<double>(block.end_ns - block.begin_ns)), 0});
  }
  lines.push_back({(block.count > 1) ? "longest of them" : "duration",
                   duration_text(static_cast<double>(record.duration_ns())), 0});
  if (kind == RowKind::Iterations) {
    lines.push_back({"start", duration_text(static_cast<double>(record.start_ns)), 0});
    const bool graph = !activity.nodes.empty();
    const std::string which =
        fmt::format("{} {}", graph ? "replay" : "iteration", record.iteration + (graph ? 1 : 0));
    read_out(context, block.count > 1 ? fmt::format("{}s", graph ? "replay" : "iteration") : which,
             lines);
    return;
  }
  lines.push_back(
      {"stage", std::string(engine::stage_name(record.stage)), context.theme.stage(record.stage)});
  lines.push_back({"start", duration_text(static_cast<double>(record.start_ns)), 0});
  lines.push_back(
      {"expert", record.expert < 0 ? "all in one launch" : std::to_string(record.expert), 0});
  lines.push_back({"layer", std::to_string(record.layer), 0});
  lines.push_back({"iteration",
                   record.iteration < 0 ? "set-up or check" : std::to_string(record.iteration), 0});
  if (record.node_id != 0) lines.push_back({"graph node", std::to_string(record.node_id), 0});
  const std::string name = name_of(activity, record.name);
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
                RowKind kind, const TimelineSegment& block, float top, float bottom) {
  const Theme& theme = context.theme;
  const profiling::ActivityRecord& record = row.records()[block.longest];
  const ImU32 color = kind == RowKind::Iterations ? theme.colors.accent : theme.stage(record.stage);
  const float left = frame.x().to_pixel(static_cast<double>(block.begin_ns));
  const float right = std::max(frame.x().to_pixel(static_cast<double>(block.end_ns)), left + 1.0F);
  ImDrawList* draw = frame.draw();
  draw->AddRectFilled(ImVec2(left, top), ImVec2(right, bottom),
                      (block.count > 1) ? faded(color, 0.8F) : color);
  if (block.count > 1) {
    // A line across tells a fold from a span. A box, for a line with soft edges costs ten of them.
    const float middle = std::floor(0.5F * (top + bottom));
    draw->AddRectFilled(ImVec2(left, middle), ImVec2(right, middle + 1.0F),
                        faded(theme.colors.window, 0.7F));
    return;
  }
  // A hairline between neighbours of one stage.
  if (right - left > 4.0F) {
    draw->AddRectFilled(ImVec2(right - 1.0F, top), ImVec2(right, bottom),
                        faded(theme.colors.window, 0.6F));
  }
  const ImFont* font = theme.fonts.label;
  const float visible_left = std::max(left, frame.min().x);
  const float room = std::min(right, frame.max().x) - visible_left - theme.px(6);
  if (room < theme.px(28) || bottom - top < font->FontSize) return;
  std::string name = name_of(activity, kind, block.longest, record);
  if (record.expert >= 0) name += " e" + std::to_string(record.expert);
  // Every stage colour is light or middle toned: dark ink reads on all of them.
  constexpr ImU32 kInk = IM_COL32(12, 16, 20, 255);
  draw_text(draw, font, ImVec2(visible_left + theme.px(3), 0.5F * (top + bottom - font->FontSize)),
            kInk, fitted(font, name, room));
}

/// What the row did not do around `time`: measured between two records, not between two pixels.
/// Nothing where the row is busy or the gap is open.
void show_gap(const PanelContext& context, const PlotFrame& frame,
              const profiling::Activity& activity, const profiling::TimelineLod& row, RowKind kind,
              float middle) {
  const double time = frame.hover_x();
  const std::size_t next = row.started_by(static_cast<std::int64_t>(std::floor(time)));
  if (next == 0 || next == row.size()) return;
  const std::uint32_t first = row.members()[next - 1];
  const std::uint32_t second = row.members()[next];
  const profiling::ActivityRecord& before = row.records()[first];
  const profiling::ActivityRecord& after = row.records()[second];
  if (after.start_ns <= before.end_ns || static_cast<double>(before.end_ns) > time) return;
  const Theme& theme = context.theme;
  const float left = frame.x().to_pixel(static_cast<double>(before.end_ns));
  const float right = frame.x().to_pixel(static_cast<double>(after.start_ns));
  frame.draw()->AddLine(ImVec2(left, middle), ImVec2(right, middle), theme.colors.warn);
  for (const float end : {left, right}) {
    frame.draw()->AddLine(ImVec2(end, middle - theme.px(4)), ImVec2(end, middle + theme.px(4)),
                          theme.colors.warn);
  }
  read_out(context, "",
           {{"gap", duration_text(static_cast<double>(after.start_ns - before.end_ns)),
             theme.colors.warn},
            {"after", name_of(activity, kind, first, before), 0},
            {"before", name_of(activity, kind, second, after), 0}});
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

/// Around the record wherever it lies, wide enough to be seen at any zoom.
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

void ask(const TimelineLanes& lanes, TimelineBlocks wanted, TimelineBlocks& drawn) {
  if (drawn.generation == wanted.generation && drawn.begin_ns == wanted.begin_ns &&
      drawn.end_ns == wanted.end_ns && drawn.pixels == wanted.pixels &&
      drawn.rows.size() == lanes.rows()) {
    return;
  }
  for (const profiling::TimelineLane& lane : lanes.lanes) {
    for (const profiling::TimelineLod& row : lane.rows) {
      wanted.rows.push_back(row.query(wanted.begin_ns, wanted.end_ns, wanted.pixels));
    }
  }
  drawn = std::move(wanted);
}

}  // namespace

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
  // drawn.rows has the rows of all lanes, whatever their order here.
  std::vector<std::size_t> first_row(lanes.lanes.size() + 1, 0);
  for (std::size_t i = 0; i < lanes.lanes.size(); ++i) {
    first_row[i + 1] = first_row[i] + lanes.lanes[i].rows.size();
  }
  std::size_t shown_rows = 0;
  for (const std::size_t lane : shown) shown_rows += lanes.lanes[lane].rows.size();
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
  // Many lanes leave no room between them.
  const float height = frame.max().y - frame.min().y;
  const float lane_gap =
      std::min(theme.px(kGapSmall), 0.2F * height / static_cast<float>(shown.size() + 1));
  const float room = height - lane_gap * static_cast<float>(shown.size() + 1);
  const float row_height = std::clamp(
      room / static_cast<float>(std::max<std::size_t>(shown_rows, 1)), 1.0F, theme.px(44));
  const auto view_begin = static_cast<std::int64_t>(std::floor(frame.x().view.min));
  const auto view_end = static_cast<std::int64_t>(std::ceil(frame.x().view.max));
  const int pixels = static_cast<int>(frame.max().x - frame.min().x);
  ask(lanes, {spec.generation, view_begin, view_end, pixels, {}}, drawn);
  float top = frame.min().y + lane_gap;
  float labelled_to = frame.min().y;
  std::optional<TimelineSegment> hovered;
  const profiling::TimelineLod* hovered_row = nullptr;
  RowKind hovered_kind = RowKind::Work;
  float hovered_middle = 0.0F;
  for (const std::size_t i : shown) {
    const profiling::TimelineLane& lane = lanes.lanes[i];
    const RowKind kind = kind_of(lane);
    std::size_t row_index = first_row[i];
    const float lane_height = row_height * static_cast<float>(lane.rows.size());
    const float label_top =
        top + 0.5F * (std::min(lane_height, theme.px(26)) - theme.fonts.label->FontSize);
    // Lanes lower than a line of text: only as many labels as stay apart.
    if (label_top >= labelled_to) {
      labelled_to = label_top + theme.fonts.label->FontSize;
      frame.open_clip();
      frame.draw()->PushClipRect(origin, frame.max(), true);
      draw_text(frame.draw(), theme.fonts.label, ImVec2(origin.x, label_top), theme.colors.dim_text,
                lanes.labels[i]);
      const ImVec2 low(origin.x, label_top);
      const ImVec2 high(frame.min().x - theme.px(2), label_top + theme.fonts.label->FontSize);
      if (spec.order != nullptr && spec.order->pinned(lanes.labels[i])) {
        frame.draw()->AddRectFilled(ImVec2(high.x - theme.px(3), low.y), high, theme.colors.accent,
                                    theme.px(1));
      }
      result.labels.push_back({i, low, high});
      frame.draw()->PopClipRect();
      frame.close_clip();
    }
    for (const profiling::TimelineLod& row : lane.rows) {
      const std::vector<TimelineSegment>& blocks = drawn.rows[row_index++];
      const float bottom = top + std::max(row_height - 1.0F, 1.0F);
      const bool mouse_in_row =
          frame.hovered() && frame.mouse().y >= top && frame.mouse().y < top + row_height;
      if (mouse_in_row) {
        hovered_row = &row;
        hovered_kind = kind;
        hovered_middle = 0.5F * (top + bottom);
      }
      result.drawn_blocks += blocks.size();
      if (kind == RowKind::MemoryEvents) {
        draw_memory_curve(context, frame, lanes.memory, top, bottom);
      }
      for (const TimelineSegment& block : blocks) {
        if (!profiling::is_beside_work(lane.kind)) result.visible_records += block.count;
        // The curve keeps the row; its events stand along the bottom.
        const float block_top =
            kind == RowKind::MemoryEvents ? std::max(top, bottom - theme.px(4)) : top;
        draw_block(context, frame, activity, row, kind, block, block_top, bottom);
        if (!mouse_in_row) continue;
        const float left = frame.x().to_pixel(static_cast<double>(block.begin_ns));
        const float right =
            std::max(frame.x().to_pixel(static_cast<double>(block.end_ns)), left + 2.0F);
        if (frame.mouse().x >= left && frame.mouse().x < right) {
          hovered = block;
          frame.draw()->AddRect(ImVec2(left, top), ImVec2(right, bottom), theme.colors.text);
        }
      }
      if (spec.chosen && holds(row, activity, *spec.chosen)) {
        outline(context, frame, activity.records[*spec.chosen], top, bottom);
      }
      top += row_height;
    }
    top += lane_gap;
  }
  if (spec.hits != nullptr) mark_hits(context, frame, *spec.hits, view_begin, view_end);
  result.clicked = frame.clicked();
  if (result.clicked && hovered && hovered_row->records().data() == activity.records.data()) {
    result.record = hovered->longest;
  }
  if (frame.middle_clicked()) {
    // The view is the frame's until the next one.
    view.x = lanes.timed.empty() ? lanes.limits : clamped(lanes.timed, lanes.limits);
    if (hovered) {
      view.x = clamped(
          padded({static_cast<double>(hovered->begin_ns), static_cast<double>(hovered->end_ns)},
                 0.1),
          lanes.limits);
    }
    view.held = hovered.has_value();
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
    show_record(context, activity, lanes.memory, *hovered_row, hovered_kind, *hovered);
  } else if (hovered_kind == RowKind::MemoryEvents) {
    show_live_memory(context, lanes.memory, frame.hover_x());
  } else if (hovered_row != nullptr) {
    show_gap(context, frame, activity, *hovered_row, hovered_kind, hovered_middle);
  }
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
