#include "profiling/trace/layer_times.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/model/projections.h"

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

bool is_product(engine::Stage stage) {
  return stage == engine::Stage::Fprop || stage == engine::Stage::Dgrad ||
         stage == engine::Stage::Wgrad;
}

bool is_counted(const ActivityRecord& record, int layers) {
  return is_timed(record) && record.kind != ActivityKind::Graph && record.layer < layers;
}

bool is_permutation(engine::Stage stage) {
  return stage == engine::Stage::Permute || stage == engine::Stage::Unpermute;
}

/// Xt is permuted for the up projection and Y of the down projection unpermuted; backward dYt is
/// permuted for the latter and dX of the former unpermuted.
bool permutes_backward(const ActivityRecord& record) {
  return (record.stage == engine::Stage::Permute) ==
         (engine::projection_at(record.layer) == engine::Projection::Down);
}

/// State of a layer while its records are visited in order.
struct Neighbour {
  std::int32_t iteration = -1;
  engine::Stage stage = engine::Stage::Other;
};

/// By record, for those that count.
std::vector<bool> find_backward(const Activity& activity, int layers) {
  const std::vector<ActivityRecord>& records = activity.records;
  std::vector<bool> backward(records.size());
  std::vector<bool> decided(records.size());
  std::vector<Neighbour> near(static_cast<std::size_t>(layers));
  for (std::size_t i = records.size(); i-- > 0;) {
    const ActivityRecord& record = records[i];
    if (!is_counted(record, layers)) continue;
    Neighbour& next = near[record.layer];  // product
    if (is_product(record.stage)) next = {record.iteration, record.stage};
    decided[i] = next.iteration == record.iteration;
    backward[i] = decided[i] && next.stage != engine::Stage::Fprop;
  }
  std::fill(near.begin(), near.end(), Neighbour());
  std::vector<bool> pass_of(near.size());  // of the record before
  for (std::size_t i = 0; i < records.size(); ++i) {
    const ActivityRecord& record = records[i];
    if (!is_counted(record, layers)) continue;
    if (is_permutation(record.stage)) {
      backward[i] = permutes_backward(record);
      continue;
    }
    Neighbour& before = near[record.layer];
    const bool first = before.iteration != record.iteration;
    const bool adds_bias =
        record.stage == engine::Stage::Bias && !first && before.stage == engine::Stage::Fprop;
    if (adds_bias) backward[i] = false;
    if (!decided[i] && !adds_bias) backward[i] = !first && pass_of[record.layer];
    before = {record.iteration, record.stage};
    pass_of[record.layer] = backward[i];
  }
  return backward;
}

}  // namespace

std::vector<LayerTime> layer_times(const Activity& activity, int layers) {
  constexpr std::size_t kStages = engine::kStageNames.size();
  layers = std::max(layers, 0);
  const std::vector<bool> backward = find_backward(activity, layers);
  // [layer, stage, pass, iteration]
  std::vector<std::vector<Busy>> rows(static_cast<std::size_t>(layers) * kStages * 2);
  for (std::size_t i = 0; i < activity.records.size(); ++i) {
    const ActivityRecord& record = activity.records[i];
    if (!is_counted(record, layers)) continue;
    const std::size_t stage = record.layer * kStages + static_cast<std::size_t>(record.stage);
    std::vector<Busy>& row = rows[2 * stage + (backward[i] ? 1 : 0)];
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
    times.push_back({.layer = static_cast<int>(i / 2 / kStages),
                     .stage = static_cast<engine::Stage>(i / 2 % kStages),
                     .backward = i % 2 == 1,
                     .time = summarize(std::move(samples))});
  }
  return times;
}

}  // namespace profiling
