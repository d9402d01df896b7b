#include "app/gui/plot/timeline_lane_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/gui/plot/format.h"
#include "app/gui/plot/iteration_words.h"
#include "engine/model/projections.h"
#include "engine/program/operation_words.h"

namespace app::plot {
namespace {

using profiling::Activity;
using profiling::ActivityRecord;
using profiling::LaneKind;
using profiling::TimelineLane;
using profiling::TimelineSegment;

std::string text_of(const Activity& activity, std::uint32_t name) {
  return name < activity.names.size() ? activity.names[name] : std::string();
}

/// The timeline shows the run on screen.
engine::StepKind step_of(const PanelContext& context) {
  const auto* run = context.view.run.get();
  return run == nullptr ? engine::StepKind::Linear : run->result.effective.step;
}

std::string operation_of(const PanelContext& context, const ActivityRecord& record) {
  return engine::operation_name(step_of(context), record.stage, record.writes);
}

std::string kernel_name(const PanelContext& context, const Activity& activity,
                        const profiling::WorkLabels& names, std::uint32_t,
                        const ActivityRecord& record) {
  // Bars are narrow: the kernel's own name is in the read-out.
  return names.label(operation_of(context, record), text_of(activity, record.name));
}

std::string iteration_number(const PanelContext&, const Activity& activity,
                             const profiling::WorkLabels&, std::uint32_t,
                             const ActivityRecord& record) {
  return std::to_string(record.iteration + (activity.nodes.empty() ? 0 : 1));
}

std::string memory_operation(const PanelContext&, const Activity& activity,
                             const profiling::WorkLabels&, std::uint32_t index,
                             const ActivityRecord&) {
  const auto operation = static_cast<std::size_t>(activity.memory_events[index].operation);
  return std::string(profiling::kMemoryOperationNames[operation]);
}

ReadOutLine iteration_line(const profiling::Activity& activity,
                           const profiling::ActivityRecord& record) {
  const bool replays = !activity.nodes.empty();
  return {iteration_noun(replays), shown_iteration(replays, record.iteration)};
}

void add_place(std::vector<ReadOutLine>& lines, const profiling::Activity& activity,
               const profiling::ActivityRecord& record) {
  lines.push_back({"start", duration_text(static_cast<double>(record.start_ns))});
  lines.push_back({"stage", std::string(engine::stage_name(record.stage))});
  lines.push_back(iteration_line(activity, record));
}

void show_memory_event(const PanelContext& context, const profiling::Activity& activity,
                       const MemoryCurve& curve, const TimelineSegment& block,
                       const profiling::ActivityRecord& record) {
  const profiling::MemoryEvent& event = activity.memory_events[block.longest];
  std::vector<ReadOutLine> lines;
  if (block.count > 1) lines.push_back({"events folded here", count_text(block.count)});
  lines.push_back({"bytes", count_text(event.bytes)});
  lines.push_back({"address", fmt::format("{:#x}", event.address)});
  if (event.pool != 0) {
    lines.push_back({"pool", fmt::format("{:#x}", event.pool)});
    if (event.pool_bytes != 0) {
      lines.push_back({"in use of the pool", fmt::format("{} of {}", count_text(event.pool_used),
                                                         count_text(event.pool_bytes))});
    }
  }
  for (ReadOutLine& line : live_lines(curve, block.longest)) lines.push_back(std::move(line));
  add_place(lines, activity, record);
  read_out(context,
           fmt::format("{}{}",
                       profiling::kMemoryOperationNames[static_cast<std::size_t>(event.operation)],
                       event.stream_ordered ? ", in stream order" : ""),
           lines);
}

void show_host_event(const PanelContext& context, const profiling::Activity& activity,
                     const MemoryCurve&, const TimelineSegment& block,
                     const profiling::ActivityRecord& record) {
  const profiling::HostEvent& event = activity.host_events[block.longest];
  std::vector<ReadOutLine> lines;
  if (block.count > 1) lines.push_back({"events folded here", count_text(block.count)});
  lines.push_back(
      {"kind", std::string(profiling::kHostEventNames[static_cast<std::size_t>(event.kind)])});
  lines.push_back({"duration", duration_text(static_cast<double>(record.duration_ns()))});
  add_place(lines, activity, record);
  read_out(context, text_of(activity, event.name), lines);
}

std::vector<ReadOutLine> duration_lines(const TimelineSegment& block,
                                        const ActivityRecord& record) {
  std::vector<ReadOutLine> lines;
  if (block.count > 1) {
    lines.push_back({"records folded here", count_text(block.count)});
    lines.push_back({"sum of these", duration_text(static_cast<double>(block.busy_ns))});
    lines.push_back(
        {"these span", duration_text(static_cast<double>(block.end_ns - block.begin_ns))});
  }
  lines.push_back({(block.count > 1) ? "longest of these" : "duration",
                   duration_text(static_cast<double>(record.duration_ns()))});
  return lines;
}

void show_iteration(const PanelContext& context, const Activity& activity, const MemoryCurve&,
                    const TimelineSegment& block, const ActivityRecord& record) {
  std::vector<ReadOutLine> lines = duration_lines(block, record);
  lines.push_back({"start", duration_text(static_cast<double>(record.start_ns))});
  const bool replays = !activity.nodes.empty();
  const char* const noun = iteration_noun(replays);
  read_out(context,
           block.count > 1 ? fmt::format("{}s", noun)
                           : fmt::format("{} {}", noun, shown_iteration(replays, record.iteration)),
           lines);
}

void show_work(const PanelContext& context, const Activity& activity, const MemoryCurve&,
               const TimelineSegment& block, const ActivityRecord& record) {
  std::vector<ReadOutLine> lines = duration_lines(block, record);
  lines.push_back(
      {"stage", std::string(engine::stage_name(record.stage)), context.theme.stage(record.stage)});
  lines.push_back({"start", duration_text(static_cast<double>(record.start_ns))});
  lines.push_back(
      {"expert", record.expert < 0 ? "all in one launch" : std::to_string(record.expert)});
  lines.push_back({"layer", engine::layer_number(step_of(context), record.layer)});
  lines.push_back(iteration_line(activity, record));
  if (const std::string node = graph_node_text(activity, record); !node.empty()) {
    lines.push_back({"graph node", node});
  }
  const std::string operation = operation_of(context, record);
  std::string name = text_of(activity, record.name);
  if (name.size() > 160) name = short_kernel_name(name);
  if (!operation.empty() && name != operation) lines.insert(lines.begin(), {"name", name});
  read_out(context, operation.empty() ? name : work_label(operation, name), lines);
}

// Kinds that follow each other in a timeline.
constexpr const char* kStep = "step";
constexpr const char* kByExpert = "experts";
constexpr const char* kEvents = "host";

using Label = std::string(const TimelineLane&, const Activity&);

constexpr LaneTraits work_lane(LaneKind kind, const char* group, Label* label) {
  return {.kind = kind,
          .group = group,
          .label = label,
          .block_name = kernel_name,
          .show_block = show_work};
}

constexpr LaneTraits host_lane(LaneKind kind, Label* label) {
  return {.kind = kind,
          .group = kEvents,
          .label = label,
          .block_name = kernel_name,
          .show_block = show_host_event,
          .list = EventList::HostEvents,
          .records = false};
}

constexpr std::array kLanes = {
    work_lane(LaneKind::Thread, "threads",
              [](const TimelineLane& lane, const Activity&) {
                return fmt::format("thread {}", lane.first);
              }),
    work_lane(LaneKind::Stream, "streams",
              [](const TimelineLane& lane, const Activity&) {
                return fmt::format("stream {}", lane.first);
              }),
    LaneTraits{.kind = LaneKind::Replays,
               .group = kStep,
               .label = [](const TimelineLane&, const Activity& activity) -> std::string {
                 return activity.nodes.empty() ? "iterations" : "replays";
               },
               .block_name = iteration_number,
               .show_block = show_iteration,
               .stage_colors = false,
               .list = std::nullopt,
               .sums_others = true},
    work_lane(LaneKind::Nodes, kStep,
              [](const TimelineLane&, const Activity&) -> std::string { return "graph nodes"; }),
    work_lane(LaneKind::Outside, kStep,
              [](const TimelineLane&, const Activity& activity) -> std::string {
                // Without a graph no record can be outside of it.
                return activity.nodes.empty() ? "work" : "outside the graph";
              }),
    work_lane(LaneKind::Experts, kByExpert,
              [](const TimelineLane& lane, const Activity&) {
                return lane.first == lane.last ? fmt::format("expert {}", lane.first)
                                               : fmt::format("e {}\u2013{}", lane.first, lane.last);
              }),
    work_lane(LaneKind::Shared, kByExpert,
              [](const TimelineLane&, const Activity&) -> std::string { return "all experts"; }),
    host_lane(LaneKind::Stages,
              [](const TimelineLane&, const Activity&) -> std::string { return "host stages"; }),
    host_lane(LaneKind::Overhead,
              [](const TimelineLane&, const Activity&) -> std::string { return "overhead"; }),
    LaneTraits{
        .kind = LaneKind::Memory,
        .group = kEvents,
        .label = [](const TimelineLane&, const Activity&) -> std::string { return "memory"; },
        .block_name = memory_operation,
        .show_block = show_memory_event,
        .list = EventList::MemoryEvents,
        .records = false,
        .curve = true}};

constexpr bool found_by_value() {
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    if (kLanes[i].kind != static_cast<LaneKind>(i)) return false;
  }
  return true;
}
static_assert(found_by_value() && kLanes.back().kind == LaneKind::Memory);

}  // namespace

std::string graph_node_text(const Activity& activity, const ActivityRecord& record) {
  if (record.node_id == 0) return {};
  const auto node = std::ranges::find(activity.nodes, record.node_id, &profiling::GraphNode::id);
  if (node == activity.nodes.end()) return {};
  return fmt::format("{} of {}", node - activity.nodes.begin() + 1, activity.nodes.size());
}

const LaneTraits& traits_of(LaneKind kind) { return kLanes.at(static_cast<std::size_t>(kind)); }

void show_live_memory(const PanelContext& context, const MemoryCurve& curve, double time) {
  const std::size_t index = curve.before(time);
  if (index < curve.time_ns.size()) read_out(context, "", live_lines(curve, index));
}

void show_gap(const PanelContext& context, const PlotFrame& frame,
              const profiling::Activity& activity, const profiling::WorkLabels& names,
              const profiling::TimelineLod& row, const LaneTraits& lane, float middle) {
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
            {"after", lane.block_name(context, activity, names, first, before)},
            {"before", lane.block_name(context, activity, names, second, after)}});
}

}  // namespace app::plot
