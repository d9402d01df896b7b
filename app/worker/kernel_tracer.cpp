#include "app/worker/kernel_tracer.h"

#include "profiling/trace/replay_sums.h"

namespace app {

std::vector<engine::TracedReplay> KernelTracer::take() {
  // The graph that the recorder may have seen is not needed here.
  (void)collector_.take_snapshot();
  const bool complete = collector_.dropped() == 0;
  const profiling::Activity activity = collector_.take();
  if (!complete) return {};  // a sum with kernels missing would be too small
  std::vector<engine::TracedReplay> replays;
  for (const profiling::ReplaySum& sum : profiling::sum_replays(activity)) {
    replays.push_back({.iteration = sum.iteration,
                       .kernels_us = static_cast<double>(sum.device_ns) * 1e-3,
                       .replay_us = static_cast<double>(sum.span_ns) * 1e-3});
  }
  return replays;
}

}  // namespace app
