// What each timed iteration took on a device: its kernels, copies and memsets added up, beside the
// time from the start of the first to the end of the last, and the gaps in which none of them ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "profiling/trace/activity.h"
#include "profiling/trace/kernel_durations.h"
#include "profiling/trace/statistics.h"

namespace profiling {

struct ReplaySum {
  int iteration = 0;
  std::int64_t first_ns = 0;   // on the records' time axis
  std::int64_t device_ns = 0;  // more than span_ns where kernels overlap
  std::int64_t span_ns = 0;
  std::int64_t gaps_ns = 0;  // of the span, what no record covers
  std::int64_t longest_gap_ns = 0;
  std::size_t records = 0;
};

/// By iteration. Host spans, and records outside of iterations, do not count.
std::vector<ReplaySum> sum_replays(const Activity& activity);

struct GapSummary {
  Distribution gaps;          // ns a replay
  double median_share = 0.0;  // of a replay's span
  std::int64_t longest_ns = 0;
};
/// Of the replays that lie in the range as a whole and have two records at least: with one record a
/// launch nothing is known of gaps. None = there is no such replay.
std::optional<GapSummary> summarize_gaps(const std::vector<ReplaySum>& replays, TimeRange range);

}  // namespace profiling
