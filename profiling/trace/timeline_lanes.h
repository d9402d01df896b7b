// Which records stand beside each other on the timeline: one lane a stream, the replays of the
// graph above its nodes, or one lane an expert.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profiling/trace/activity.h"
#include "profiling/trace/timeline_lod.h"

namespace profiling {

enum class LaneKind : std::uint8_t {
  Thread,    // host spans of a thread
  Stream,    // what ran on a stream
  Replays,   // one block an iteration; its rows refer to iteration_spans()
  Nodes,     // what the graph's nodes did
  Outside,   // what belongs to no node of the graph
  Experts,   // records that name one of a few neighbouring experts
  Shared,    // records that name no expert
  Stages,    // where a host thread was in the step; its rows refer to event_records().host
  Overhead,  // what else kept a host thread busy; the same
  Memory,    // allocations, releases and pools; its rows refer to event_records().memory
};

constexpr bool is_beside_work(LaneKind kind) {
  return kind == LaneKind::Stages || kind == LaneKind::Overhead || kind == LaneKind::Memory;
}

/// A lane with its records spread over as few rows as keep overlapping records apart, at most
/// kMaxRowsPerLane; what overlaps even then shares the last row. Overlap within the clock's slack
/// (at most 2 us and a quarter of the later record) counts as none.
struct TimelineLane {
  LaneKind kind = LaneKind::Stream;
  std::uint16_t first = 0;  // number of the thread or stream, first of the experts
  std::uint16_t last = 0;
  std::vector<TimelineLod> rows;
};

inline constexpr std::size_t kMaxRowsPerLane = 16;
/// More experts share lanes: neighbours, the same number in each.
inline constexpr int kMostExpertLanes = 32;

/// Threads first, then streams, each by number. `records` must be sorted by start and outlive the
/// result; so for all of these.
std::vector<TimelineLane> lanes_by_stream(std::span<const ActivityRecord> records);
/// Replays (or eager iterations), nodes of the graph, and what is outside of it. `spans` too must
/// outlive the result.
std::vector<TimelineLane> lanes_by_replay(std::span<const ActivityRecord> records,
                                          std::span<const ActivityRecord> spans);
/// Experts in order, then what names none. Experts without a record have no lane.
std::vector<TimelineLane> lanes_by_expert(std::span<const ActivityRecord> records);

/// Events as records, index by index, so that the timeline treats them alike. A moment is a record
/// without length.
struct EventSpans {
  std::vector<ActivityRecord> host;
  std::vector<ActivityRecord> memory;
};
EventSpans event_records(const Activity& activity);
/// Lanes of what went on beside the work: stages, overhead, memory. Empty ones are left out.
/// `events` must be of this activity and outlive the result.
std::vector<TimelineLane> lanes_of_events(const Activity& activity, const EventSpans& events);

/// One record an iteration, from its first record's start to its last record's end, by start.
std::vector<ActivityRecord> iteration_spans(std::span<const ActivityRecord> records);

}  // namespace profiling
