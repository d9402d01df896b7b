// Labels and limits around the lanes that profiling builds.
#include <algorithm>

#include "app/gui/plot/timeline_plot.h"

namespace app::plot {

std::size_t TimelineLanes::rows() const {
  std::size_t sum = 0;
  for (const profiling::TimelineLane& lane : lanes) sum += lane.rows.size();
  return sum;
}

TimelineLanes make_timeline(const profiling::Activity& activity) {
  TimelineLanes result;
  result.lanes = profiling::build_timeline(activity.records);
  for (const profiling::TimelineLane& lane : result.lanes) {
    result.labels.push_back((lane.host ? "thread " : "stream ") + std::to_string(lane.lane));
    for (const profiling::TimelineLod& row : lane.rows) {
      const Range range{static_cast<double>(row.begin_ns()), static_cast<double>(row.end_ns())};
      result.limits = result.limits.empty() ? range
                                            : Range{std::min(result.limits.min, range.min),
                                                    std::max(result.limits.max, range.max)};
    }
  }
  for (const profiling::ActivityRecord& record : activity.records) {
    if (record.iteration < 0) continue;
    const Range range{static_cast<double>(record.start_ns), static_cast<double>(record.end_ns)};
    result.timed = result.timed.empty() ? range
                                        : Range{std::min(result.timed.min, range.min),
                                                std::max(result.timed.max, range.max)};
  }
  if (!result.timed.empty()) result.timed = padded(result.timed, 0.01);
  if (!result.limits.empty()) result.limits = padded(result.limits, 0.005);
  return result;
}

}  // namespace app::plot
