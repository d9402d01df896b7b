// Device time of each timed iteration: the sum of its kernels, copies and memsets, the time from
// the start of the first to the end of the last, and the gaps in which none of them ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "profiling/trace/activity.h"
#include "profiling/trace/statistics.h"

namespace profiling {

struct ReplaySum {
  int iteration = 0;
  std::int64_t first_ns = 0;   // on the records' time axis
  std::int64_t device_ns = 0;  // more than span_ns where kernels overlap
  std::int64_t span_ns = 0;
  std::int64_t gaps_ns = 0;  // the part of the span that no record covers
  std::int64_t longest_gap_ns = 0;
  std::size_t records = 0;
};

/// By iteration. Host spans, and records outside iterations, do not count.
std::vector<ReplaySum> sum_replays(const Activity& activity);

struct GapSummary {
  Distribution gaps;          // ns per replay
  double median_share = 0.0;  // share of a replay's span
  std::int64_t longest_ns = 0;
};
/// Over the replays that lie entirely in the range and have at least two records: with one record
/// per launch nothing is known about gaps. None = no such replay.
std::optional<GapSummary> summarize_gaps(const std::vector<ReplaySum>& replays, TimeRange range);

}  // namespace profiling
