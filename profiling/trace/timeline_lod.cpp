// A pyramid of record groups. A query descends only where a group is wider than a fold, so its cost
// scales with the pixels, not the records.
#include "profiling/trace/timeline_lod.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace profiling {

namespace {

constexpr std::size_t kFanout = 16;
constexpr double kGridPixels = 2.0 * kFoldPixels;
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// end - begin without overflow, for end >= begin.
double length_ns(std::int64_t begin, std::int64_t end) {
  return static_cast<double>(static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin));
}

}  // namespace

/// One query in progress: walks the pyramid from the left and collects segments.
class TimelineLod::Query {
 public:
  Query(const TimelineLod& row, std::int64_t view_begin_ns, std::int64_t view_end_ns, int pixels)
      : row_(row), view_begin_ns_(view_begin_ns), view_end_ns_(view_end_ns) {
    pixel_ns_ = length_ns(view_begin_ns, view_end_ns) / pixels;
    fold_ns_ = kFoldPixels * pixel_ns_;
  }

  /// `level` 0 = a record, otherwise a node of levels_[level - 1].
  void visit(std::size_t level, std::size_t index) {
    const TimelineSegment whole = row_.segment(level, index);
    if (whole.end_ns < view_begin_ns_ || whole.begin_ns >= view_end_ns_) return;
    const bool narrow = length_ns(whole.begin_ns, whole.end_ns) < fold_ns_;
    if (narrow) return add_narrow(whole);
    if (level == 0) return add_wide(whole);
    const std::size_t below = level == 1 ? row_.members_.size() : row_.levels_[level - 2].size();
    const std::size_t last = std::min((index + 1) * kFanout, below);
    for (std::size_t child = index * kFanout; child < last; ++child) visit(level - 1, child);
  }

  std::vector<TimelineSegment> take() { return std::move(segments_); }

 private:
  /// Joins the last fold unless a visible gap lies between. Folds also end at the edges of a grid
  /// fixed in time, not in the view: a crowd keeps its density and does not flicker when panning.
  void add_narrow(const TimelineSegment& more) {
    if (last_fold_ != kNone) {
      TimelineSegment& last = segments_[last_fold_];
      const bool gap =
          more.begin_ns > last.end_ns && length_ns(last.end_ns, more.begin_ns) >= fold_ns_;
      if (!gap && grid_cell(more.begin_ns) == grid_cell(last.begin_ns)) return merge(more, last);
    }
    last_fold_ = segments_.size();
    segments_.push_back(more);
  }

  /// Wide records that overlap and begin within one pixel would hide each other: they are merged,
  /// which bounds the result for a row of overlapping records too.
  void add_wide(const TimelineSegment& record) {
    if (last_wide_ != kNone) {
      TimelineSegment& last = segments_[last_wide_];
      // The pixel of the first record in it; records left of the view share its first pixel.
      const std::int64_t from = std::max(last.begin_ns, view_begin_ns_);
      const std::int64_t begin = std::max(record.begin_ns, view_begin_ns_);
      if (record.begin_ns < last.end_ns && length_ns(from, begin) < pixel_ns_) {
        return merge(record, last);
      }
    }
    last_wide_ = segments_.size();
    segments_.push_back(record);
  }

  double grid_cell(std::int64_t time_ns) const {
    return std::floor(static_cast<double>(time_ns) / (kGridPixels * pixel_ns_));
  }

  void merge(const TimelineSegment& more, TimelineSegment& into) const {
    into.end_ns = std::max(into.end_ns, more.end_ns);
    into.busy_ns += more.busy_ns;
    into.count += more.count;
    if (row_.records_[more.longest].duration_ns() > row_.records_[into.longest].duration_ns()) {
      into.longest = more.longest;
    }
  }

  const TimelineLod& row_;
  std::int64_t view_begin_ns_;
  std::int64_t view_end_ns_;
  double pixel_ns_ = 0.0;
  double fold_ns_ = 0.0;
  std::vector<TimelineSegment> segments_;
  std::size_t last_fold_ = kNone;
  std::size_t last_wide_ = kNone;
};

TimelineLod::TimelineLod(std::span<const ActivityRecord> records,
                         std::vector<std::uint32_t> members)
    : records_(records), members_(std::move(members)) {
  std::size_t below = members_.size();
  while (below > 1) {
    std::vector<Node> level((below + kFanout - 1) / kFanout);
    for (std::size_t i = 0; i < level.size(); ++i) {
      const std::size_t first = i * kFanout;
      const std::size_t last = std::min(first + kFanout, below);
      Node node;
      for (std::size_t child = first; child < last; ++child) {
        const TimelineSegment part = segment(levels_.size(), child);
        if (child == first) {
          node = {.begin_ns = part.begin_ns, .end_ns = part.end_ns, .longest = part.longest};
        }
        node.end_ns = std::max(node.end_ns, part.end_ns);
        node.busy_ns += part.busy_ns;
        if (records_[part.longest].duration_ns() > records_[node.longest].duration_ns()) {
          node.longest = part.longest;
        }
      }
      level[i] = node;
    }
    below = level.size();
    levels_.push_back(std::move(level));
  }
}

TimelineSegment TimelineLod::segment(std::size_t level, std::size_t index) const {
  if (level == 0) {
    const std::uint32_t member = members_[index];
    const ActivityRecord& record = records_[member];
    return {.begin_ns = record.start_ns,
            .end_ns = record.end_ns,
            .busy_ns = record.duration_ns(),
            .count = 1,
            .longest = member};
  }
  const Node& node = levels_[level - 1][index];
  std::size_t span = 1;
  for (std::size_t i = 0; i < level; ++i) span *= kFanout;
  const std::size_t first = index * span;
  return {.begin_ns = node.begin_ns,
          .end_ns = node.end_ns,
          .busy_ns = node.busy_ns,
          .count = static_cast<std::uint32_t>(std::min(span, members_.size() - first)),
          .longest = node.longest};
}

std::vector<TimelineSegment> TimelineLod::query(std::int64_t view_begin_ns,
                                                std::int64_t view_end_ns, int pixels) const {
  if (members_.empty() || pixels <= 0 || view_end_ns <= view_begin_ns) return {};
  Query query(*this, view_begin_ns, view_end_ns, pixels);
  query.visit(levels_.size(), 0);
  return query.take();
}

std::int64_t TimelineLod::begin_ns() const {
  return members_.empty() ? 0 : segment(levels_.size(), 0).begin_ns;
}

std::int64_t TimelineLod::end_ns() const {
  return members_.empty() ? 0 : segment(levels_.size(), 0).end_ns;
}

std::size_t TimelineLod::started_by(std::int64_t time_ns) const {
  const auto later = std::partition_point(
      members_.begin(), members_.end(),
      [&](std::uint32_t member) { return records_[member].start_ns <= time_ns; });
  return static_cast<std::size_t>(later - members_.begin());
}

std::size_t TimelineLod::memory_bytes() const {
  std::size_t bytes = members_.capacity() * sizeof(std::uint32_t);
  for (const std::vector<Node>& level : levels_) bytes += level.capacity() * sizeof(Node);
  return bytes;
}

}  // namespace profiling
