// A counting sort: kernels are numbered by (name, stage), which is a small dense space.
#include "profiling/trace/kernel_durations.h"

#include <algorithm>

namespace profiling {

namespace {

constexpr std::size_t kStages = engine::kStageNames.size();

/// A name or stage out of range (only in records that no session file can hold) counts as the last.
std::size_t slot_of(const ActivityRecord& record, std::size_t names) {
  const std::size_t name = std::min<std::size_t>(record.name, names);
  const std::size_t stage = std::min(static_cast<std::size_t>(record.stage), kStages - 1);
  return name * kStages + stage;
}

}  // namespace

std::span<const ActivityRecord> records_in(const Activity& activity, TimeRange range) {
  const std::vector<ActivityRecord>& records = activity.records;
  const auto starts_before = [](std::int64_t time_ns) {
    return [time_ns](const ActivityRecord& record) { return record.start_ns < time_ns; };
  };
  const auto first =
      std::partition_point(records.begin(), records.end(), starts_before(range.begin_ns));
  const auto last = std::partition_point(first, records.end(), starts_before(range.end_ns));
  return {first, last};
}

KernelDurations::KernelDurations(const Activity& activity, TimeRange range, bool only_iterations) {
  const std::span<const ActivityRecord> records = records_in(activity, range);
  const std::size_t names = activity.names.size();
  std::vector<std::size_t> place((names + 1) * kStages, 0);
  std::size_t total = 0;
  for (const ActivityRecord& record : records) {
    if (only_iterations && record.iteration < 0) continue;
    ++place[slot_of(record, names)];
    ++total;
  }
  std::size_t first = 0;
  for (std::size_t slot = 0; slot < place.size(); ++slot) {
    const std::size_t count = place[slot];
    place[slot] = first;
    if (count == 0) continue;
    kernels_.push_back({.name = static_cast<std::uint32_t>(slot / kStages),
                        .stage = static_cast<engine::Stage>(slot % kStages),
                        .first = first,
                        .count = count});
    first += count;
  }
  samples_.resize(total);
  for (const ActivityRecord& record : records) {
    if (only_iterations && record.iteration < 0) continue;
    samples_[place[slot_of(record, names)]++] = static_cast<double>(record.duration_ns());
  }
}

}  // namespace profiling
