// Labels of the lanes that profiling builds.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/gui/plot/timeline_plot.h"

namespace app::plot {
namespace {

std::string label_of(const profiling::TimelineLane& lane, const profiling::Activity& activity) {
  switch (lane.kind) {
    case profiling::LaneKind::Thread:
      return fmt::format("thread {}", lane.first);
    case profiling::LaneKind::Stream:
      return fmt::format("stream {}", lane.first);
    case profiling::LaneKind::Replays:
      return activity.nodes.empty() ? "iterations" : "replays";
    case profiling::LaneKind::Nodes:
      return "graph nodes";
    case profiling::LaneKind::Outside:
      // Without a graph no record can be outside of it.
      return activity.nodes.empty() ? "work" : "outside the graph";
    case profiling::LaneKind::Experts:
      return lane.first == lane.last ? fmt::format("expert {}", lane.first)
                                     : fmt::format("e {}\u2013{}", lane.first, lane.last);
    case profiling::LaneKind::Shared:
      return "all experts";
    case profiling::LaneKind::Stages:
      return "host stages";
    case profiling::LaneKind::Overhead:
      return "overhead";
    case profiling::LaneKind::Memory:
      return "memory";
  }
  return "";
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
    result.labels.push_back(label_of(lane, activity));
  }
  return result;
}

}  // namespace app::plot
