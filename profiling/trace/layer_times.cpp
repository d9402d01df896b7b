#include "profiling/trace/layer_times.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace profiling {
namespace {

struct Busy {
  std::int64_t end_ns = 0;
  std::int64_t busy_ns = 0;
  bool any = false;

  /// Records come by start: what overlaps an earlier one counts once.
  void add(const ActivityRecord& record) {
    const std::int64_t from = any ? std::max(record.start_ns, end_ns) : record.start_ns;
    busy_ns += std::max<std::int64_t>(record.end_ns - from, 0);
    end_ns = any ? std::max(end_ns, record.end_ns) : record.end_ns;
    any = true;
  }
};

}  // namespace

std::vector<LayerTime> layer_times(const Activity& activity, int layers) {
  constexpr std::size_t kStages = engine::kStageNames.size();
  // [layer, stage, iteration]
  std::vector<std::vector<Busy>> rows(static_cast<std::size_t>(std::max(layers, 0)) * kStages);
  for (const ActivityRecord& record : activity.records) {
    if (!is_timed(record) || record.kind == ActivityKind::Graph || record.layer >= layers) continue;
    std::vector<Busy>& row = rows[record.layer * kStages + static_cast<std::size_t>(record.stage)];
    const auto iteration = static_cast<std::size_t>(record.iteration);
    if (iteration >= row.size()) row.resize(iteration + 1);
    row[iteration].add(record);
  }
  std::vector<LayerTime> times;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<double> samples;
    for (const Busy& busy : rows[i]) {
      if (busy.any) samples.push_back(static_cast<double>(busy.busy_ns));
    }
    if (samples.empty()) continue;
    times.push_back({.layer = static_cast<int>(i / kStages),
                     .stage = static_cast<engine::Stage>(i % kStages),
                     .time = summarize(std::move(samples))});
  }
  return times;
}

}  // namespace profiling
