// Durations of the records in a time range, grouped by kernel and stage in two passes over the
// records without a hash table: a range of ten million takes a fraction of a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profiling/trace/activity.h"

namespace profiling {

struct TimeRange {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;  // exclusive

  bool contains(std::int64_t time_ns) const { return time_ns >= begin_ns && time_ns < end_ns; }
};

class KernelDurations {
 public:
  struct Kernel {
    std::uint32_t name = 0;
    engine::Stage stage = engine::Stage::Other;
    std::size_t first = 0;  // first of its samples
    std::size_t count = 0;
  };

  /// Records that start inside the range (`activity.records` must be sorted by start).
  /// `only_iterations` leaves out set-up and checks.
  KernelDurations(const Activity& activity, TimeRange range, bool only_iterations);

  /// Kernels with a record in the range, by name and stage.
  const std::vector<Kernel>& kernels() const { return kernels_; }
  /// Nanoseconds, in order of start.
  std::span<const double> samples(std::size_t kernel) const {
    return {samples_.data() + kernels_[kernel].first, kernels_[kernel].count};
  }

 private:
  std::vector<Kernel> kernels_;
  std::vector<double> samples_;
};

/// The part of the records, sorted by start, that starts inside the range.
std::span<const ActivityRecord> records_in(const Activity& activity, TimeRange range);

}  // namespace profiling
