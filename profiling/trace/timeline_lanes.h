// How records are arranged on the timeline: one lane per stream, the replays of the graph above its
// nodes, or one lane per expert.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profiling/trace/activity.h"
#include "profiling/trace/stamped_spans.h"
#include "profiling/trace/timeline_lod.h"

namespace profiling {

enum class LaneKind : std::uint8_t {
  Thread,    // host spans of a thread
  Stream,    // work on a stream
  Replays,   // one block per iteration; its rows refer to iteration_spans()
  Nodes,     // work of the graph's nodes
  Outside,   // work outside the graph's nodes
  Experts,   // records that name one of a few adjacent experts
  Shared,    // records that name no expert
  Stages,    // where a host thread was in the step; its rows refer to event_records().host
  Overhead,  // other host activity; the same
  Memory,    // allocations, releases and pools; its rows refer to event_records().memory
};

/// A lane with its records spread over the fewest rows that separate overlapping records, at most
/// kMaxRowsPerLane; further overlapping records share the last row. Overlap within the clock's
/// slack (at most 2 us and a quarter of the later record) does not count.
struct TimelineLane {
  LaneKind kind = LaneKind::Stream;
  std::uint16_t first = 0;  // number of the thread or stream, or of the first expert
  std::uint16_t last = 0;
  std::vector<TimelineLod> rows;
};

inline constexpr std::size_t kMaxRowsPerLane = 16;
/// More experts share lanes: adjacent ones, the same number in each.
inline constexpr int kMaxExpertLanes = 32;
constexpr int experts_per_lane(int experts) {
  return experts > kMaxExpertLanes ? (experts + kMaxExpertLanes - 1) / kMaxExpertLanes : 1;
}

/// Threads first, then streams, each by number. For this and the following functions `records` must
/// be sorted by start and outlive the result.
std::vector<TimelineLane> lanes_by_stream(std::span<const ActivityRecord> records);
/// Replays (or eager iterations), nodes of the graph, and work outside of it. `spans` must also
/// outlive the result.
std::vector<TimelineLane> lanes_by_replay(std::span<const ActivityRecord> records,
                                          std::span<const ActivityRecord> spans);
/// Experts in order, then records that name none. Experts with neither a record nor tiles in
/// `stamped` have no lane; those with tiles alone have a row without records. `stamped`: of these
/// records; null = none.
std::vector<TimelineLane> lanes_by_expert(std::span<const ActivityRecord> records,
                                          const StampedSpans* stamped = nullptr);

/// Events as records, index by index, so that the timeline treats both in the same way. An instant
/// is a record of zero length.
struct EventSpans {
  std::vector<ActivityRecord> host;
  std::vector<ActivityRecord> memory;
};
EventSpans event_records(const Activity& activity);
/// Lanes of non-kernel events: stages, overhead, memory. Empty ones are left out.
/// `events` must be of this activity and outlive the result.
std::vector<TimelineLane> lanes_of_events(const Activity& activity, const EventSpans& events);

/// One record per iteration, from its first record's start to its last record's end, by start.
std::vector<ActivityRecord> iteration_spans(std::span<const ActivityRecord> records);
/// Of these spans, the timed iteration of median duration; null if none is timed.
const ActivityRecord* median_iteration(std::span<const ActivityRecord> spans);

}  // namespace profiling
