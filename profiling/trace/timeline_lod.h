// Level of detail of the timeline: any zoom over any number of records becomes a few segments per
// pixel, and the longest record of a crowd is never lost. Built once per run; queries are const and
// may be made from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profiling/trace/activity.h"

namespace profiling {

/// One record (count 1), or a fold: adjacent records each narrower than kFoldPixels (or, if records
/// overlap in one row, wide ones that begin in the same pixel).
struct TimelineSegment {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;    // latest end
  std::int64_t busy_ns = 0;   // sum of the durations
  std::uint32_t count = 0;    // records in it
  std::uint32_t longest = 0;  // index of the longest record (the record itself for count 1)
};

inline constexpr double kFoldPixels = 3.0;

/// A row of records in order of start. At most 2^32 - 1 records.
class TimelineLod {
 public:
  /// `records` must outlive this; `members` are the indices of this row's records, by start.
  TimelineLod(std::span<const ActivityRecord> records, std::vector<std::uint32_t> members);

  /// Segments that overlap [view_begin_ns, view_end_ns), by begin; at most about two per pixel
  /// regardless of the number of records. Segments keep their true times: the caller clips them.
  /// Cost: O(pixels log n), less if little is visible.
  std::vector<TimelineSegment> query(std::int64_t view_begin_ns, std::int64_t view_end_ns,
                                     int pixels) const;

  std::size_t size() const { return members_.size(); }
  /// The records that `longest` and the members index.
  std::span<const ActivityRecord> records() const { return records_; }
  /// Indices of this row's records, by start.
  std::span<const std::uint32_t> members() const { return members_; }
  /// Number of members that start at or before `time_ns`.
  std::size_t started_by(std::int64_t time_ns) const;
  /// Memory of the row in addition to the records.
  std::size_t memory_bytes() const;
  /// First start and last end; both 0 when empty.
  std::int64_t begin_ns() const;
  std::int64_t end_ns() const;

 private:
  /// Summary of all records below a node; node i of a level covers nodes
  /// [i * kFanout, (i + 1) * kFanout) of the level below.
  struct Node {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t busy_ns = 0;
    std::uint32_t longest = 0;
  };
  class Query;

  TimelineSegment segment(std::size_t level, std::size_t index) const;

  std::span<const ActivityRecord> records_;
  std::vector<std::uint32_t> members_;
  std::vector<std::vector<Node>> levels_;  // levels_[0] covers records
};

}  // namespace profiling
