// Two passes: the first determines every record's row, the second fills rows of known size, so that
// ten million records never need twice their indices.
#include "profiling/trace/timeline_lanes.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace profiling {

namespace {

constexpr std::uint16_t kNoLane = std::numeric_limits<std::uint16_t>::max();

/// How much two records may overlap and still count as sequential: CUPTI's times of back-to-back
/// kernels were seen to overlap by up to 1.3 us (H200, driver 580). Never more than a quarter of
/// the later one, so that short concurrent work is still recognized.
std::int64_t clock_slack_ns(const ActivityRecord& record) {
  constexpr std::int64_t kMost = 2000;
  return std::min(kMost, record.duration_ns() / 4);
}

/// A lane under construction.
struct Rows {
  TimelineLane lane;
  bool without_records = false;  // it is kept without any
  std::vector<std::int64_t> end_ns;
  std::vector<std::size_t> counts;

  /// The row for the next record by start.
  std::size_t add(const ActivityRecord& record, std::size_t most_rows) {
    std::size_t row = 0;
    while (row < end_ns.size() && end_ns[row] - record.start_ns > clock_slack_ns(record)) ++row;
    if (row == most_rows) --row;
    if (row == end_ns.size()) {
      end_ns.push_back(record.end_ns);
      counts.push_back(0);
    }
    end_ns[row] = std::max(end_ns[row], record.end_ns);
    ++counts[row];
    return row;
  }
};

/// `lane_of` gives the index into `lanes` or kNoLane. Lanes that stay empty are left out, unless
/// they are to be kept without records.
template <class LaneOf>
std::vector<TimelineLane> fill(std::span<const ActivityRecord> records, std::vector<Rows> lanes,
                               std::size_t most_rows, LaneOf lane_of) {
  std::vector<std::uint8_t> row_of(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::uint16_t lane = lane_of(records[i]);
    if (lane == kNoLane) continue;
    row_of[i] = static_cast<std::uint8_t>(lanes[lane].add(records[i], most_rows));
  }
  std::vector<std::vector<std::vector<std::uint32_t>>> members(lanes.size());
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    members[lane].resize(lanes[lane].counts.size());
    for (std::size_t row = 0; row < members[lane].size(); ++row) {
      members[lane][row].reserve(lanes[lane].counts[row]);
    }
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::uint16_t lane = lane_of(records[i]);
    if (lane != kNoLane) members[lane][row_of[i]].push_back(static_cast<std::uint32_t>(i));
  }
  std::vector<TimelineLane> timeline;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    if (members[lane].empty()) {
      if (!lanes[lane].without_records) continue;
      members[lane].emplace_back();
    }
    TimelineLane& filled = timeline.emplace_back(std::move(lanes[lane].lane));
    for (std::vector<std::uint32_t>& row : members[lane]) {
      filled.rows.emplace_back(records, std::move(row));
    }
  }
  return timeline;
}

Rows empty_lane(LaneKind kind, std::size_t first = 0, std::size_t last = 0) {
  Rows rows;
  rows.lane.kind = kind;
  rows.lane.first = static_cast<std::uint16_t>(first);
  rows.lane.last = static_cast<std::uint16_t>(last);
  return rows;
}

}  // namespace

std::vector<TimelineLane> lanes_by_stream(std::span<const ActivityRecord> records) {
  constexpr std::size_t kNumbers = std::size_t{1} << 16;
  std::vector<bool> seen(2 * kNumbers, false);
  const auto slot_of = [](const ActivityRecord& record) {
    return (record.kind == ActivityKind::HostSpan ? 0 : kNumbers) + record.lane;
  };
  for (const ActivityRecord& record : records) seen[slot_of(record)] = true;
  std::vector<std::uint16_t> lane_at(2 * kNumbers, kNoLane);
  std::vector<Rows> lanes;
  for (std::size_t slot = 0; slot < seen.size() && lanes.size() < kNoLane; ++slot) {
    if (!seen[slot]) continue;
    lane_at[slot] = static_cast<std::uint16_t>(lanes.size());
    const LaneKind kind = slot < kNumbers ? LaneKind::Thread : LaneKind::Stream;
    lanes.push_back(empty_lane(kind, slot % kNumbers, slot % kNumbers));
  }
  return fill(records, std::move(lanes), kMaxRowsPerLane,
              [&](const ActivityRecord& record) { return lane_at[slot_of(record)]; });
}

std::vector<TimelineLane> lanes_by_replay(std::span<const ActivityRecord> records,
                                          std::span<const ActivityRecord> spans) {
  std::vector<TimelineLane> timeline =
      fill(spans, {empty_lane(LaneKind::Replays)}, kMaxRowsPerLane,
           [](const ActivityRecord&) -> std::uint16_t { return 0; });
  std::vector<TimelineLane> below =
      fill(records, {empty_lane(LaneKind::Nodes), empty_lane(LaneKind::Outside)}, kMaxRowsPerLane,
           [](const ActivityRecord& record) -> std::uint16_t { return record.node_id == 0; });
  for (TimelineLane& lane : below) timeline.push_back(std::move(lane));
  return timeline;
}

namespace {

bool has_tiles(const StampedSpans& stamped, std::size_t lane) {
  return std::ranges::any_of(stamped.operations, [lane](const StampedOperation& operation) {
    return lane < operation.lanes.size() && !operation.lanes[lane].experts.empty();
  });
}

}  // namespace

std::vector<TimelineLane> lanes_by_expert(std::span<const ActivityRecord> records,
                                          const StampedSpans* stamped) {
  int experts = stamped == nullptr ? 0 : stamped->experts;
  for (const ActivityRecord& record : records) experts = std::max(experts, record.expert + 1);
  const int together = experts_per_lane(experts);
  std::vector<Rows> lanes;
  for (int first = 0; first < experts; first += together) {
    const int last = std::min(first + together, experts) - 1;
    const std::size_t lane = lanes.size();
    lanes.push_back(empty_lane(LaneKind::Experts, static_cast<std::size_t>(first),
                               static_cast<std::size_t>(last)));
    lanes.back().without_records = stamped != nullptr && has_tiles(*stamped, lane);
  }
  const auto shared = static_cast<std::uint16_t>(lanes.size());
  lanes.push_back(empty_lane(LaneKind::Shared));
  // Many lanes leave no room for separate rows.
  const std::size_t most_rows = experts > 8 ? 2 : kMaxRowsPerLane;
  return fill(records, std::move(lanes), most_rows, [&](const ActivityRecord& record) {
    return record.expert < 0 ? shared : static_cast<std::uint16_t>(record.expert / together);
  });
}

EventSpans event_records(const Activity& activity) {
  EventSpans spans;
  spans.host.reserve(activity.host_events.size());
  for (const HostEvent& event : activity.host_events) {
    spans.host.push_back({.start_ns = event.start_ns,
                          .end_ns = event.end_ns,
                          .name = event.name,
                          .iteration = event.iteration,
                          .layer = event.layer,
                          .kind = ActivityKind::HostSpan,
                          .lane = event.lane,
                          .stage = event.stage});
  }
  spans.memory.reserve(activity.memory_events.size());
  for (const MemoryEvent& event : activity.memory_events) {
    spans.memory.push_back({.start_ns = event.time_ns,
                            .end_ns = event.time_ns,
                            .iteration = event.iteration,
                            .layer = event.layer,
                            .kind = ActivityKind::HostSpan,
                            .stage = event.stage});
  }
  return spans;
}

std::vector<TimelineLane> lanes_of_events(const Activity& activity, const EventSpans& events) {
  const ActivityRecord* const first = events.host.data();
  std::vector<TimelineLane> lanes =
      fill(events.host, {empty_lane(LaneKind::Stages), empty_lane(LaneKind::Overhead)},
           kMaxRowsPerLane, [&](const ActivityRecord& record) -> std::uint16_t {
             const auto index = static_cast<std::size_t>(&record - first);
             return activity.host_events[index].kind != HostEventKind::StageRange;
           });
  for (TimelineLane& lane : fill(events.memory, {empty_lane(LaneKind::Memory)}, 1,
                                 [](const ActivityRecord&) -> std::uint16_t { return 0; })) {
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

std::vector<ActivityRecord> iteration_spans(std::span<const ActivityRecord> records) {
  std::vector<ActivityRecord> spans;
  std::vector<std::uint32_t> span_of;  // by iteration, 0 = none yet, else one more than its index
  for (const ActivityRecord& record : records) {
    if (record.iteration < 0) continue;
    const auto iteration = static_cast<std::size_t>(record.iteration);
    if (iteration >= span_of.size()) span_of.resize(iteration + 1, 0);
    if (span_of[iteration] == 0) {
      ActivityRecord& span = spans.emplace_back();
      span.start_ns = record.start_ns;
      span.end_ns = record.end_ns;
      span.iteration = record.iteration;
      span.kind = record.kind;
      span_of[iteration] = static_cast<std::uint32_t>(spans.size());
    }
    ActivityRecord& span = spans[span_of[iteration] - 1];
    span.end_ns = std::max(span.end_ns, record.end_ns);
  }
  return spans;
}

const ActivityRecord* median_iteration(std::span<const ActivityRecord> spans) {
  std::vector<const ActivityRecord*> timed;
  for (const ActivityRecord& one : spans) {
    if (one.iteration >= 0) timed.push_back(&one);
  }
  if (timed.empty()) return nullptr;
  const auto middle = timed.begin() + static_cast<std::ptrdiff_t>(timed.size() / 2);
  std::ranges::nth_element(timed, middle, {}, &ActivityRecord::duration_ns);
  return *middle;
}

}  // namespace profiling
