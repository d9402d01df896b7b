#include "profiling/trace/replay_sums.h"

#include <algorithm>
#include <map>
#include <utility>

namespace profiling {

std::vector<ReplaySum> sum_replays(const Activity& activity) {
  struct Sum {
    ReplaySum replay;
    std::int64_t covered_until_ns = 0;
  };
  std::map<int, Sum> sums;
  Sum* latest = nullptr;  // nearly always the next record's
  for (const ActivityRecord& record : activity.records) {
    if (record.iteration < 0 || record.kind == ActivityKind::HostSpan) continue;
    if (latest == nullptr || latest->replay.iteration != record.iteration) {
      latest = &sums[record.iteration];
    }
    Sum& sum = *latest;
    ReplaySum& replay = sum.replay;
    if (replay.records == 0) {
      replay.iteration = record.iteration;
      replay.first_ns = record.start_ns;
      sum.covered_until_ns = record.start_ns;
    }
    // Records are sorted by start, so the time between is a gap on all streams.
    const std::int64_t gap = std::max<std::int64_t>(record.start_ns - sum.covered_until_ns, 0);
    replay.gaps_ns += gap;
    replay.longest_gap_ns = std::max(replay.longest_gap_ns, gap);
    replay.device_ns += record.duration_ns();
    sum.covered_until_ns = std::max(sum.covered_until_ns, record.end_ns);
    replay.span_ns = sum.covered_until_ns - replay.first_ns;
    ++replay.records;
  }
  std::vector<ReplaySum> replays;
  for (const auto& [iteration, sum] : sums) replays.push_back(sum.replay);
  return replays;
}

std::optional<GapSummary> summarize_gaps(const std::vector<ReplaySum>& replays, TimeRange range) {
  std::vector<double> gaps;
  std::vector<double> shares;
  GapSummary summary;
  for (const ReplaySum& replay : replays) {
    const bool inside =
        replay.first_ns >= range.begin_ns && replay.first_ns + replay.span_ns <= range.end_ns;
    if (!inside || replay.records < 2 || replay.span_ns == 0) continue;
    gaps.push_back(static_cast<double>(replay.gaps_ns));
    shares.push_back(gaps.back() / static_cast<double>(replay.span_ns));
    summary.longest_ns = std::max(summary.longest_ns, replay.longest_gap_ns);
  }
  if (gaps.empty()) return std::nullopt;
  summary.gaps = summarize(std::move(gaps));
  summary.median_share = quantile(shares, 0.5);
  return summary;
}

}  // namespace profiling
