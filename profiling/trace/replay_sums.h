// What each timed iteration took on a device: its kernels, copies and memsets added up, beside the
// time from the start of the first to the end of the last.
#pragma once

#include <cstdint>
#include <vector>

#include "profiling/trace/activity.h"

namespace profiling {

struct ReplaySum {
  int iteration = 0;
  std::int64_t device_ns = 0;  // more than span_ns where kernels overlap
  std::int64_t span_ns = 0;
};

/// By iteration. Host spans, and records outside of iterations, do not count.
std::vector<ReplaySum> sum_replays(const Activity& activity);

}  // namespace profiling
