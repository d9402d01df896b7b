// Summaries of activity. Every one goes over the records once; a session file's records are not
// trusted to be complete or small.
#include "profiling/trace/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include "engine/model/run_request.h"

namespace profiling {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double sorted_quantile(std::span<const double> sorted, double q) {
  if (sorted.empty()) return kNaN;
  // A NaN has no rank; sorting has left it anywhere.
  for (const double sample : sorted) {
    if (std::isnan(sample)) return kNaN;
  }
  const double position = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(position);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(low);
  const double step = sorted[high] - sorted[low];
  // From the nearer end, as numpy does: equal neighbours then give exactly their value.
  return fraction < 0.5 ? sorted[low] + step * fraction : sorted[high] - step * (1.0 - fraction);
}

bool is_timed(const ActivityRecord& record) {
  return record.iteration >= 0 && record.iteration < engine::kMaxIterations;
}

/// What a row of the matrix stands for: the node, or name, stage, layer and expert packed.
std::uint64_t row_key(const ActivityRecord& record, bool graph) {
  if (graph) return record.node_id;
  return std::uint64_t{record.name} << 32 |
         std::uint64_t{static_cast<std::uint8_t>(record.stage)} << 24 |
         std::uint64_t{record.layer} << 16 | static_cast<std::uint16_t>(record.expert);
}

std::string row_label(const std::string& name, int layer, int expert, bool several_layers) {
  std::string label = name;
  if (several_layers) label += fmt::format(" [layer {}]", layer);
  if (expert >= 0) label += fmt::format(" [expert {}]", expert);
  return label;
}

std::string name_of(const Activity& activity, std::uint32_t name) {
  return name < activity.names.size() ? activity.names[name] : std::string("?");
}

}  // namespace

double quantile(std::span<const double> samples, double q) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted_quantile(sorted, q);
}

Distribution summarize(std::vector<double> samples) {
  if (samples.empty()) {
    return {.n = 0,
            .median = kNaN,
            .p5 = kNaN,
            .p95 = kNaN,
            .minimum = kNaN,
            .maximum = kNaN,
            .sum = kNaN};
  }
  std::sort(samples.begin(), samples.end());
  double sum = 0.0;
  for (const double sample : samples) sum += sample;
  return {.n = samples.size(),
          .median = sorted_quantile(samples, 0.5),
          .p5 = sorted_quantile(samples, 0.05),
          .p95 = sorted_quantile(samples, 0.95),
          .minimum = samples.front(),
          .maximum = samples.back(),
          .sum = sum};
}

std::vector<KernelSummary> kernel_table(const Activity& activity, TimeRange range,
                                        bool only_iterations) {
  const std::vector<ActivityRecord>& records = activity.records;
  const auto first = std::partition_point(
      records.begin(), records.end(),
      [&](const ActivityRecord& record) { return record.start_ns < range.begin_ns; });
  std::unordered_map<std::uint64_t, std::vector<double>> durations;
  for (auto record = first; record != records.end() && record->start_ns < range.end_ns; ++record) {
    if (only_iterations && record->iteration < 0) continue;
    const std::uint64_t key =
        std::uint64_t{record->name} << 8 | static_cast<std::uint64_t>(record->stage);
    durations[key].push_back(static_cast<double>(record->duration_ns()));
  }
  std::vector<KernelSummary> table;
  double total = 0.0;
  for (auto& [key, samples] : durations) {
    table.push_back({.name = static_cast<std::uint32_t>(key >> 8),
                     .stage = static_cast<engine::Stage>(key & 0xFFU),
                     .time = summarize(std::move(samples))});
    total += table.back().time.sum;
  }
  for (KernelSummary& row : table) row.share = total > 0.0 ? row.time.sum / total : 0.0;
  std::sort(table.begin(), table.end(), [](const KernelSummary& a, const KernelSummary& b) {
    // Ties by name and stage, so that equal rows do not swap from frame to frame.
    return std::tuple(-a.time.sum, a.name, a.stage) < std::tuple(-b.time.sum, b.name, b.stage);
  });
  return table;
}

std::vector<ExpertTime> expert_times(const Activity& activity, engine::Stage stage) {
  std::unordered_map<std::uint64_t, double> sums;  // by expert (upper half) and iteration
  for (const ActivityRecord& record : activity.records) {
    if (record.stage != stage || record.expert < 0 || !is_timed(record)) continue;
    const std::uint64_t key = static_cast<std::uint64_t>(record.expert) << 32 |
                              static_cast<std::uint32_t>(record.iteration);
    sums[key] += static_cast<double>(record.duration_ns());
  }
  std::map<int, std::vector<double>> samples;
  for (const auto& [key, sum] : sums) samples[static_cast<int>(key >> 32)].push_back(sum);
  std::vector<ExpertTime> times;
  for (auto& [expert, durations] : samples) {
    times.push_back({.expert = expert, .time = summarize(std::move(durations))});
  }
  return times;
}

NodeMatrix node_matrix(const Activity& activity) {
  NodeMatrix matrix;
  bool graph = !activity.nodes.empty();
  bool several_layers = false;
  for (const ActivityRecord& record : activity.records) {
    graph = graph || record.node_id != 0;
    several_layers = several_layers || record.layer > 0;
  }
  std::unordered_map<std::uint64_t, const GraphNode*> nodes;
  for (const GraphNode& node : activity.nodes) {
    nodes.emplace(node.id, &node);
    several_layers = several_layers || node.layer > 0;
  }

  std::unordered_map<std::uint64_t, std::size_t> row_of;
  for (const ActivityRecord& record : activity.records) {
    if (!is_timed(record) || (graph && record.node_id == 0)) continue;
    matrix.iterations = std::max(matrix.iterations, record.iteration + 1);
    if (!row_of.emplace(row_key(record, graph), matrix.rows.size()).second) continue;
    const auto node = nodes.find(record.node_id);
    matrix.rows.push_back({.label = row_label(node != nodes.end() ? node->second->name
                                                                  : name_of(activity, record.name),
                                              record.layer, record.expert, several_layers),
                           .stage = record.stage,
                           .node_id = graph ? record.node_id : 0,
                           .expert = record.expert,
                           .time = {}});
  }
  // A node that never left a record is shown too: an empty row is a finding.
  for (const GraphNode& node : activity.nodes) {
    if (!row_of.emplace(node.id, matrix.rows.size()).second) continue;
    matrix.rows.push_back({.label = row_label(node.name, node.layer, -1, several_layers),
                           .stage = node.stage,
                           .node_id = node.id,
                           .expert = -1,
                           .time = {}});
  }

  const auto columns = static_cast<std::size_t>(matrix.iterations);
  const std::size_t most_rows = columns == 0 ? matrix.rows.size() : kMaxMatrixCells / columns;
  if (matrix.rows.size() > most_rows) {
    matrix.omitted_rows = matrix.rows.size() - most_rows;
    matrix.rows.resize(most_rows);
  }
  matrix.duration_ns.assign(matrix.rows.size() * columns, std::numeric_limits<float>::quiet_NaN());
  for (const ActivityRecord& record : activity.records) {
    if (!is_timed(record) || (graph && record.node_id == 0)) continue;
    const std::size_t row = row_of.find(row_key(record, graph))->second;
    if (row >= matrix.rows.size()) continue;
    float& cell = matrix.duration_ns[row * columns + static_cast<std::size_t>(record.iteration)];
    const auto duration = static_cast<float>(record.duration_ns());
    cell = std::isnan(cell) ? duration : cell + duration;
  }
  for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
    std::vector<double> samples;
    for (std::size_t i = 0; i < columns; ++i) {
      const float cell = matrix.duration_ns[row * columns + i];
      if (!std::isnan(cell)) samples.push_back(static_cast<double>(cell));
    }
    matrix.rows[row].time = summarize(std::move(samples));
  }
  return matrix;
}

}  // namespace profiling
