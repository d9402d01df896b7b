#include "profiling/trace/replay_sums.h"

#include <algorithm>
#include <map>

namespace profiling {

std::vector<ReplaySum> sum_replays(const Activity& activity) {
  struct Sum {
    std::int64_t first_ns = 0, last_ns = 0, device_ns = 0;
  };
  std::map<int, Sum> sums;
  for (const ActivityRecord& record : activity.records) {
    if (record.iteration < 0 || record.kind == ActivityKind::HostSpan) continue;
    const auto at = sums.try_emplace(record.iteration,
                                     Sum{.first_ns = record.start_ns, .last_ns = record.end_ns});
    Sum& sum = at.first->second;
    sum.first_ns = std::min(sum.first_ns, record.start_ns);
    sum.last_ns = std::max(sum.last_ns, record.end_ns);
    sum.device_ns += record.duration_ns();
  }
  std::vector<ReplaySum> replays;
  for (const auto& [iteration, sum] : sums) {
    replays.push_back({.iteration = iteration,
                       .device_ns = sum.device_ns,
                       .span_ns = sum.last_ns - sum.first_ns});
  }
  return replays;
}

}  // namespace profiling
