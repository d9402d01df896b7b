#include "app/worker/kernel_tracer.h"

#include <algorithm>
#include <map>

namespace app {

std::vector<engine::TracedReplay> replays_of(const profiling::Activity& activity) {
  struct Sum {
    std::int64_t first_ns = 0, last_ns = 0, kernels_ns = 0;
  };
  std::map<int, Sum> sums;
  for (const profiling::ActivityRecord& record : activity.records) {
    if (record.iteration < 0 || record.kind == profiling::ActivityKind::HostSpan) continue;
    const auto [at, fresh] = sums.try_emplace(
        record.iteration, Sum{.first_ns = record.start_ns, .last_ns = record.end_ns});
    Sum& sum = at->second;
    sum.first_ns = std::min(sum.first_ns, record.start_ns);
    sum.last_ns = std::max(sum.last_ns, record.end_ns);
    sum.kernels_ns += record.duration_ns();
  }
  std::vector<engine::TracedReplay> replays;
  for (const auto& [iteration, sum] : sums) {
    replays.push_back({.iteration = iteration,
                       .kernels_us = static_cast<double>(sum.kernels_ns) * 1e-3,
                       .replay_us = static_cast<double>(sum.last_ns - sum.first_ns) * 1e-3});
  }
  return replays;
}

std::vector<engine::TracedReplay> KernelTracer::take() {
  // Nobody asks for the graph that the recorder may have seen.
  (void)collector_.take_snapshot();
  const bool complete = collector_.dropped() == 0;
  const profiling::Activity activity = collector_.take();
  if (!complete) return {};  // a sum with kernels missing would be too small
  return replays_of(activity);
}

}  // namespace app
