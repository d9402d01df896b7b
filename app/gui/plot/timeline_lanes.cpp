// From records to lanes and rows.
#include <algorithm>
#include <map>

#include "app/gui/plot/timeline_plot.h"

namespace app::plot {

std::size_t TimelineLanes::rows() const {
  std::size_t sum = 0;
  for (const TimelineLane& lane : lanes) sum += lane.rows.size();
  return sum;
}

TimelineLanes make_timeline(const profiling::Activity& activity) {
  constexpr std::size_t kMostRowsPerLane = 4;
  TimelineLanes result;
  std::map<std::pair<bool, std::uint16_t>, std::vector<Span>> by_lane;
  bool any = false;
  for (std::size_t i = 0; i < activity.records.size(); ++i) {
    const profiling::ActivityRecord& record = activity.records[i];
    const bool on_host = record.kind == profiling::ActivityKind::HostSpan;
    by_lane[{on_host, record.lane}].push_back(
        {record.start_ns, record.end_ns, static_cast<std::uint32_t>(i)});
    const double begin = static_cast<double>(record.start_ns);
    const double end = static_cast<double>(record.end_ns);
    result.limits =
        any ? Range{std::min(result.limits.min, begin), std::max(result.limits.max, end)}
            : Range{begin, end};
    any = true;
  }
  if (any) result.limits = padded(result.limits, 0.005);
  for (auto& [key, spans] : by_lane) {
    TimelineLane lane;
    lane.label = (key.first ? "thread " : "stream ") + std::to_string(key.second);
    lane.records = spans.size();
    // A span that holds others starts first and is longer: it takes the upper row.
    std::ranges::stable_sort(spans, [](const Span& a, const Span& b) {
      return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
    });
    lane.rows = stack_rows(spans, kMostRowsPerLane);
    result.lanes.push_back(std::move(lane));
  }
  return result;
}

}  // namespace app::plot
