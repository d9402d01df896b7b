#include "app/gui/panels/timeline_details.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/iteration_words.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/theme/text.h"
#include "engine/model/projections.h"
#include "engine/program/operation_words.h"
#include "profiling/trace/roofline.h"

namespace app {
namespace {

using plot::bytes_text;
using plot::duration_text;
using profiling::Activity;
using profiling::ActivityKind;
using profiling::ActivityRecord;
using profiling::LaunchShape;
using profiling::RecordedRun;

std::string time_text(std::int64_t ns) { return duration_text(static_cast<double>(ns)); }

std::string exact_bytes(std::uint64_t bytes) {
  return bytes < 1024 ? bytes_text(bytes)
                      : fmt::format("{} ({} B)", bytes_text(bytes), plot::count_text(bytes));
}

class Lines {
 public:
  void add(std::string label, std::string value) {
    lines_.push_back({std::move(label), std::move(value), true});
  }
  void missing(std::string label, std::string reason) {
    lines_.push_back({std::move(label), std::move(reason), false});
  }
  std::vector<DetailLine> take() { return std::move(lines_); }

 private:
  std::vector<DetailLine> lines_;
};

const char* kind_text(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::HostSpan:
      return "span of the host";
    case ActivityKind::Kernel:
      return "kernel";
    case ActivityKind::Memcpy:
      return "copy";
    case ActivityKind::Memset:
      return "memset";
    case ActivityKind::Graph:
      break;
  }
  return "launch of a whole graph";
}

/// Why something that only a device's tracer records is not there.
std::string why_missing(const ActivityRecord& record) {
  if (record.kind == ActivityKind::HostSpan) return "not recorded by the CPU worker";
  if (record.kind == ActivityKind::Graph) return "not recorded: nodes were not traced one by one";
  return "not in this recording";
}

/// The node of the captured graph that the record is of; null without one.
const profiling::SnapshotNode* captured_node(const RecordedRun& run, const ActivityRecord& record) {
  if (record.node_id == 0) return nullptr;
  for (const profiling::GraphSnapshot& graph : run.snapshot.graphs) {
    const auto found = std::ranges::find(graph.nodes, record.node_id, &profiling::SnapshotNode::id);
    if (found != graph.nodes.end()) return &*found;
  }
  return nullptr;
}

void add_shape(const LaunchShape& shape, Lines& lines) {
  lines.add("grid", plot::extent_text(shape.grid_x, shape.grid_y, shape.grid_z));
  lines.add("block", plot::extent_text(shape.block_x, shape.block_y, shape.block_z) + " threads");
  lines.add("registers", fmt::format("{} per thread", shape.registers_per_thread));
  lines.add("shared memory",
            fmt::format("{} static + {} dynamic", bytes_text(shape.static_shared_bytes),
                        bytes_text(shape.dynamic_shared_bytes)));
}

/// Grid, block, registers and shared memory: as the tracer recorded them, else as the graph was
/// captured.
void add_launch_shape(const RecordedRun& run, const ActivityRecord& record, Lines& lines) {
  if (record.kind == ActivityKind::Memcpy || record.kind == ActivityKind::Memset) return;
  const LaunchShape* shape = shape_of(run.activity, record);
  if (shape != nullptr && shape->kernel()) return add_shape(*shape, lines);
  const std::string why = why_missing(record);
  const profiling::SnapshotNode* node = captured_node(run, record);
  const auto* kernel =
      node == nullptr ? nullptr : std::get_if<profiling::KernelNode>(&node->parameters);
  if (kernel == nullptr) {
    for (const char* label : {"grid", "block", "registers", "shared memory"}) {
      lines.missing(label, why);
    }
    return;
  }
  lines.add("grid", plot::extent_text(kernel->grid.x, kernel->grid.y, kernel->grid.z));
  lines.add("block",
            plot::extent_text(kernel->block.x, kernel->block.y, kernel->block.z) + " threads");
  lines.missing("registers", why);
  lines.add("shared memory",
            fmt::format("{} dynamic; static {}", bytes_text(kernel->dynamic_shared_bytes), why));
}

void add_bytes(const RecordedRun& run, const ActivityRecord& record, Lines& lines) {
  const LaunchShape* shape = shape_of(run.activity, record);
  if (shape != nullptr && !shape->kernel()) return lines.add("bytes", exact_bytes(shape->bytes));
  const profiling::SnapshotNode* node = captured_node(run, record);
  if (node != nullptr) {
    if (const auto* set = std::get_if<profiling::MemsetNode>(&node->parameters)) {
      return lines.add("bytes", exact_bytes(set->bytes()));
    }
    if (const auto* copy = std::get_if<profiling::MemcpyNode>(&node->parameters)) {
      return lines.add("bytes", exact_bytes(copy->bytes));
    }
  }
  const auto work = profiling::stage_work(run.result, record.stage, record.iteration);
  if (work) {
    // Counted for the stage: which part is this record's is not known.
    lines.add("bytes", fmt::format("at least {} for all {} of a step, counted",
                                   bytes_text(static_cast<std::uint64_t>(work->bytes)),
                                   engine::stage_name(record.stage)));
  } else if (record.kind == ActivityKind::Kernel) {
    lines.missing("bytes", "a tracer does not count what a kernel moves");
  } else {
    lines.missing("bytes", why_missing(record));
  }
}

void add_iteration(const RecordedRun& run, const ActivityRecord& record, Lines& lines) {
  const bool replays = !run.activity.nodes.empty();
  lines.add(iteration_noun(replays), shown_iteration(replays, record.iteration));
  if (record.iteration < 0) return;
  const auto index = static_cast<std::size_t>(record.iteration);
  const bool timed =
      index < run.result.iterations.size() && run.result.iterations[index].duration_ns > 0;
  if (!timed) return lines.missing("share of it", "it was not timed");
  const std::int64_t whole = run.result.iterations[index].duration_ns;
  lines.add("share of it", fmt::format("{} of {}",
                                       plot::share_text(static_cast<double>(record.duration_ns()),
                                                        static_cast<double>(whole)),
                                       time_text(whole)));
}

void add_host_launch(const ActivityRecord& record, EventDetails& details, Lines& lines) {
  if (!details.launch) {
    const bool host = record.kind == ActivityKind::HostSpan;
    return lines.missing("launched by", host ? "not recorded by the CPU worker: it ran here"
                                             : "not in this recording");
  }
  const profiling::HostLaunch& launch = *details.launch;
  const std::string before = time_text(record.start_ns - launch.start_ns);
  lines.add("launched by",
            launch.call
                ? fmt::format("{}, begun {} before", launch.name, before)
                : fmt::format("somewhere in the host range '{}', which began {} before; the "
                              "call is not in this recording",
                              launch.name, before));
  if (launch.call) lines.add("call took", time_text(launch.end_ns - launch.start_ns));
}

void add_graph_node(const Activity& activity, const ActivityRecord& record, Lines& lines) {
  if (activity.nodes.empty()) return lines.add("graph node", "none: launched without a graph");
  const std::string node = plot::graph_node_text(activity, record);
  lines.add("graph node", node.empty() ? "none: outside the graph" : node);
}

std::string stage_text(const RecordedRun& run, engine::Stage stage, int layer) {
  return fmt::format("{}, {}", engine::stage_name(stage),
                     engine::layer_words(run.result.effective.step, layer));
}

/// Of a launch for all experts also what their lanes show of it.
std::string expert_text(const ActivityRecord& record, const profiling::StampedSpans& stamped) {
  if (record.expert >= 0) return std::to_string(record.expert);
  const profiling::StampedOperation* operation = stamped.of(record);
  if (operation == nullptr) return "all in one launch";
  return fmt::format(
      "all in one launch; their lanes show when each ran in the stamped launch{} ({}; this one {})",
      operation->launches == 1 ? "" : " of median duration", time_text(operation->duration_ns),
      time_text(record.duration_ns()));
}

EventDetails of_record(const RecordedRun& run, const ActivityRecord& record,
                       const profiling::WorkLabels& names, const profiling::StampedSpans& stamped) {
  const Activity& activity = run.activity;
  const std::string& name = activity.names[record.name];
  const std::string operation =
      engine::operation_name(run.result.effective.step, record.stage, record.writes);
  EventDetails details{.title = operation.empty() ? name : names.label(operation, name),
                       .launch = profiling::host_launch(activity, record)};
  Lines lines;
  if (details.title != name) lines.add("name", name);
  lines.add("kind", kind_text(record.kind));
  lines.add("stage", stage_text(run, record.stage, record.layer));
  lines.add("expert", expert_text(record, stamped));
  lines.add("duration", time_text(record.duration_ns()));
  add_iteration(run, record, lines);
  lines.add("start", time_text(record.start_ns));
  add_host_launch(record, details, lines);
  add_launch_shape(run, record, lines);
  add_bytes(run, record, lines);
  add_graph_node(activity, record, lines);
  lines.add(record.kind == ActivityKind::HostSpan ? "thread" : "stream",
            std::to_string(record.lane));
  details.lines = lines.take();
  return details;
}

/// Details of an event that is not a record.
template <class Event>
void add_place(const RecordedRun& run, const Event& event, Lines& lines) {
  lines.add("stage", stage_text(run, event.stage, event.layer));
  const bool replays = !run.activity.nodes.empty();
  lines.add(iteration_noun(replays), shown_iteration(replays, event.iteration));
}

EventDetails of_host_event(const RecordedRun& run, const profiling::HostEvent& event) {
  const Activity& activity = run.activity;
  EventDetails details{.title = activity.names[event.name]};
  Lines lines;
  lines.add("kind", std::string(profiling::kHostEventNames[static_cast<std::size_t>(event.kind)]));
  lines.add("duration", time_text(event.end_ns - event.start_ns));
  lines.add("start", time_text(event.start_ns));
  add_place(run, event, lines);
  lines.add("host thread", std::to_string(event.lane));
  details.lines = lines.take();
  return details;
}

EventDetails of_memory_event(const RecordedRun& run, const profiling::MemoryEvent& event) {
  const auto operation = static_cast<std::size_t>(event.operation);
  EventDetails details{.title = std::string(profiling::kMemoryOperationNames[operation])};
  Lines lines;
  lines.add("bytes", exact_bytes(event.bytes));
  lines.add("memory", std::string(engine::name_of(event.space)));
  lines.add("address", fmt::format("{:#x}", event.address));
  lines.add("ordered by", event.stream_ordered ? "its stream" : "the host");
  if (event.pool != 0) lines.add("pool", fmt::format("{:#x}", event.pool));
  lines.add("start", time_text(event.time_ns));
  add_place(run, event, lines);
  details.lines = lines.take();
  return details;
}

}  // namespace

EventDetails details_of(const RecordedRun& run, const plot::TimelineEvent& event,
                        const profiling::WorkLabels& names,
                        const profiling::StampedSpans& stamped) {
  const Activity& activity = run.activity;
  switch (event.list) {
    case plot::EventList::Records:
      return of_record(run, activity.records.at(event.index), names, stamped);
    case plot::EventList::HostEvents:
      return of_host_event(run, activity.host_events.at(event.index));
    case plot::EventList::MemoryEvents:
      break;
  }
  return of_memory_event(run, activity.memory_events.at(event.index));
}

std::string details_text(const EventDetails& details) {
  std::string text = details.title + "\n";
  for (const DetailLine& line : details.lines) {
    text += fmt::format("{}\t{}\n", line.label, line.value);
  }
  return text;
}

bool draw_details(const PanelContext& context, const Area& area, const EventDetails& details) {
  const Theme& theme = context.theme;
  ImGui::SetCursorScreenPos(area.at);
  const ChildScope panel("##performance.details", area.size, theme.colors.raised,
                         ImVec2(theme.px(kGap), theme.px(kGapSmall)));
  if (controls::button(context, "performance.details.copy", "Copy",
                       {.tooltip = "All lines, for a spreadsheet", .width = theme.px(56)})) {
    ImGui::SetClipboardText(details_text(details).c_str());
    context.commands.push_back(StatusMessage{"Copied the details of " + details.title});
  }
  ImGui::SameLine(0, theme.px(kGapSmall));
  const bool closed =
      controls::button(context, "performance.details.close", "Close",
                       {.tooltip = "Until an event is clicked again", .width = theme.px(56)});
  const FontScope font(theme.fonts.label);
  ImGui::PushTextWrapPos(0.0F);
  show_text(details.title);
  for (const DetailLine& line : details.lines) {
    {
      const TextColorScope color(theme.colors.dim_text);
      show_text(line.label);
    }
    ImGui::SameLine(theme.px(kGap + 92));
    const TextColorScope color(line.recorded ? theme.colors.text : theme.colors.dim_text);
    show_text(line.value);
  }
  ImGui::PopTextWrapPos();
  controls::record(context, "performance.details", "the clicked event", "text",
                   details_text(details), area.at, area.end());
  return closed;
}

}  // namespace app
