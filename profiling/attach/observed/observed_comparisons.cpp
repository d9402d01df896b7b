// What comparisons of memory before and after replays have found.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "profiling/attach/observed/observed_process.h"

namespace profiling {
namespace {

void keep(std::vector<ChangedMemory>& all, const ChangedMemory& one, bool& missed) {
  if (all.size() < kMaxChangedMemory) {
    all.push_back(one);
  } else {
    missed = true;
  }
}

/// Of the frame's result and call.
std::string reason(std::uint32_t result, std::string_view call) {
  constexpr std::uint32_t kOtherContext = 201;
  constexpr std::uint32_t kNotReady = 600;
  constexpr std::uint32_t kContextGone = 709;
  if (call.empty() && result == kOtherContext) return "graphs of another context are not compared";
  if (call.empty() && result == kContextGone)
    return "replays are not compared since the device's context was reset";
  if (result == kNotReady)
    return "replays are no longer compared: a stream did not become idle within 30 s";
  return fmt::format("replays are no longer compared: {} gave error {}", call, result);
}

}  // namespace

void ObservedProcess::take_compared(const SpoolFrame& frame) {
  spool::ReplayCompared compared{};
  if (!frame.read(compared)) return;
  const std::size_t bytes = std::size_t{compared.ranges} * sizeof(spool::ChangedRange);
  const std::span<const std::byte> ranges = frame.after(sizeof compared, 0, bytes);
  if (compared.ranges > spool::kMostChangedRanges || ranges.size() != bytes) return;
  ++compared_;
  const auto number = of_exec_.find(compared.exec);
  ComparedReplay replay{.replay = compared.replay,
                        .hashed_bytes = compared.bytes,
                        .partial = compared.cut != 0,
                        .changed = {},
                        .at = frame.position};
  for (std::size_t r = 0; r < compared.ranges; ++r) {
    spool::ChangedRange range{};
    std::memcpy(&range, ranges.data() + r * sizeof range, sizeof range);
    // Memory that is new was written by somebody, as far as one can tell.
    const bool by_program =
        (range.changed & (spool::ChangedRange::kByProgram | spool::ChangedRange::kNew)) != 0;
    const bool by_replay = (range.changed & spool::ChangedRange::kByReplay) != 0;
    replay.changed.push_back({.address = range.address,
                              .bytes = range.bytes,
                              .by_program = by_program,
                              .by_replay = by_replay});
  }
  // What this replay writes is a change by somebody else for every other graph.
  for (auto& [other, graph] : graphs_) {
    if (number != of_exec_.end() && other == number->second) continue;
    for (ChangedMemory change : replay.changed) {
      change.by_program = true;
      change.by_replay = false;
      keep(graph.changed_meanwhile, change, graph.missed_changes);
    }
    graph.missed_changes = graph.missed_changes || replay.partial;
  }
  ObservedGraph* graph = number == of_exec_.end() ? nullptr : find(number->second);
  if (graph == nullptr) return;
  for (const ChangedMemory& change : graph->changed_meanwhile)
    keep(replay.changed, change, graph->missed_changes);
  replay.partial = replay.partial || graph->missed_changes;
  graph->changed_meanwhile.clear();
  graph->missed_changes = false;
  std::ranges::sort(replay.changed, {}, &ChangedMemory::address);
  std::vector<ComparedReplay>& all = graph->graph.compared;
  if (all.size() >= kMaxComparedReplays) all.erase(all.begin());
  all.push_back(std::move(replay));
}

void ObservedProcess::take_comparisons_stopped(const SpoolFrame& frame) {
  spool::ComparisonsStopped stopped{};
  if (!frame.read(stopped)) return;
  const std::string why =
      reason(stopped.result, frame.text_after(sizeof stopped, 0, stopped.call_bytes));
  constexpr std::size_t kMostBytes = 1000;
  if (not_compared_.size() > kMostBytes || not_compared_.find(why) != std::string::npos) return;
  if (!not_compared_.empty()) not_compared_ += "; ";
  not_compared_ += why;
}

}  // namespace profiling
