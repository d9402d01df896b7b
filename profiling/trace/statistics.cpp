// Summaries of activity. Each scans the records once; a session file's records are not trusted to
// be complete or small.
#include "profiling/trace/statistics.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "engine/model/median_interval.h"
#include "engine/model/projections.h"
#include "engine/model/run_request.h"
#include "engine/model/time_text.h"
#include "engine/program/operation_words.h"

namespace profiling {

// A counting sort: kernels are numbered by name and by the operations that occur, a small dense
// space.
namespace {

constexpr std::size_t kStages = engine::kStageNames.size();
constexpr std::size_t kOperations = kStages * engine::kWrittenValues;

/// Stage and written value. One out of range (only in records that no session file can hold) counts
/// as the last stage, or as unknown.
std::size_t operation_of(const ActivityRecord& record) {
  const std::size_t stage = std::min(static_cast<std::size_t>(record.stage), kStages - 1);
  const auto writes = static_cast<std::size_t>(record.writes);
  return stage * engine::kWrittenValues + (writes < engine::kWrittenValues ? writes : 0);
}

/// Numbers of the operations that occur, in the order of operation_of().
class OperationNumbers {
 public:
  void see(const ActivityRecord& record) { numbers_[operation_of(record)] = 0; }
  void number() {
    for (std::size_t operation = 0; operation < kOperations; ++operation) {
      if (numbers_[operation] == kAbsent) continue;
      numbers_[operation] = seen_.size();
      seen_.push_back(operation);
    }
  }
  std::size_t of(const ActivityRecord& record) const { return numbers_[operation_of(record)]; }
  std::size_t size() const { return seen_.size(); }
  engine::Stage stage(std::size_t number) const {
    return static_cast<engine::Stage>(seen_[number] / engine::kWrittenValues);
  }
  engine::WrittenValue writes(std::size_t number) const {
    return static_cast<engine::WrittenValue>(seen_[number] % engine::kWrittenValues);
  }

 private:
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);
  std::vector<std::size_t> numbers_ = std::vector<std::size_t>(kOperations, kAbsent);
  std::vector<std::size_t> seen_;
};

}  // namespace

std::span<const ActivityRecord> records_in(const Activity& activity, TimeRange range) {
  const std::vector<ActivityRecord>& records = activity.records;
  const auto starts_before = [](std::int64_t time_ns) {
    return [time_ns](const ActivityRecord& record) { return record.start_ns < time_ns; };
  };
  const auto first =
      std::partition_point(records.begin(), records.end(), starts_before(range.begin_ns));
  const auto last = std::partition_point(first, records.end(), starts_before(range.end_ns));
  return {first, last};
}

std::int64_t longest_record_ns(const Activity& activity) {
  std::int64_t longest = 0;
  for (const ActivityRecord& record : activity.records) {
    longest = std::max(longest, record.duration_ns());
  }
  return longest;
}

std::span<const ActivityRecord> records_touching(const Activity& activity, TimeRange range,
                                                 std::int64_t longest_ns) {
  const bool underflows = range.begin_ns < kAllTime.begin_ns + longest_ns;
  range.begin_ns = underflows ? kAllTime.begin_ns : range.begin_ns - longest_ns;
  return records_in(activity, range);
}

namespace {

/// Calls visit(record) for every record with a part in the range.
template <class Visit>
void for_each_touching(const Activity& activity, TimeRange range, std::int64_t longest_ns,
                       Visit visit) {
  for (const ActivityRecord& record : records_touching(activity, range, longest_ns)) {
    if (range.inside_ns(record) > 0 || range.contains(record.start_ns)) visit(record);
  }
}

}  // namespace

KernelDurations::KernelDurations(const Activity& activity, TimeRange range, bool only_iterations,
                                 std::int64_t longest_ns) {
  const std::size_t names = activity.names.size();
  struct Slot {
    std::size_t place = 0;  // first its count, then where its next sample goes
    std::int64_t inside_ns = 0;
    bool used = false;
  };
  const auto for_each_record = [&](auto visit) {
    for_each_touching(activity, range, longest_ns, [&](const ActivityRecord& record) {
      if (!only_iterations || record.iteration >= 0) visit(record);
    });
  };
  OperationNumbers operations;
  for_each_record([&](const ActivityRecord& record) { operations.see(record); });
  operations.number();
  std::vector<Slot> slots((names + 1) * operations.size());
  const auto for_each = [&](auto visit) {
    for_each_record([&](const ActivityRecord& record) {
      const std::size_t name = std::min<std::size_t>(record.name, names);
      visit(record, slots[name * operations.size() + operations.of(record)]);
    });
  };
  std::size_t total = 0;
  for_each([&](const ActivityRecord& record, Slot& slot) {
    slot.used = true;
    slot.inside_ns += range.inside_ns(record);
    if (!range.contains(record)) return;
    ++slot.place;
    ++total;
  });
  std::size_t first = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].used) continue;
    const std::size_t count = std::exchange(slots[i].place, first);
    const std::size_t operation = i % operations.size();
    kernels_.push_back({.name = static_cast<std::uint32_t>(i / operations.size()),
                        .stage = operations.stage(operation),
                        .writes = operations.writes(operation),
                        .first = first,
                        .count = count,
                        .inside_ns = static_cast<double>(slots[i].inside_ns)});
    first += count;
  }
  samples_.resize(total);
  for_each([&](const ActivityRecord& record, Slot& slot) {
    if (range.contains(record)) samples_[slot.place++] = static_cast<double>(record.duration_ns());
  });
}

namespace {

/// Interpolates between two adjacent samples, `parts` of kParts of the way. In whole numbers where
/// the samples are some, with one rounding at the end: 20 % from 7 to 8 ns is 7.2, whose shortest
/// text has no noise, and equal neighbours give exactly their value.
constexpr std::size_t kParts = 1000;
double between(double low, double high, std::size_t parts) {
  if (parts == 0 || low == high) return low;
  const double value =
      (low * static_cast<double>(kParts - parts) + high * static_cast<double>(parts)) /
      static_cast<double>(kParts);
  return std::isfinite(value) ? std::clamp(value, low, high) : value;
}

/// Reorders the samples; needs at least one and no NaN. `q`: in steps of 1 / kParts. What lies
/// before `first` is known to be no larger, and what lies from `last` on no smaller, than what is
/// between.
double selected_quantile(std::span<double> samples, double q, std::size_t first = 0,
                         std::size_t last = SIZE_MAX) {
  const auto part =
      static_cast<std::size_t>(std::lround(std::clamp(q, 0.0, 1.0) * static_cast<double>(kParts)));
  const std::size_t position = part * (samples.size() - 1);
  const auto place = [&](std::size_t index) {
    return samples.begin() + static_cast<std::ptrdiff_t>(std::min(index, samples.size()));
  };
  const auto at = place(position / kParts);
  std::nth_element(place(first), at, place(last));
  if (at + 1 == samples.end()) return *at;
  const auto next = at + 1 < place(last) ? std::min_element(at + 1, place(last))
                                         : std::min_element(at + 1, samples.end());
  return between(*at, *next, position % kParts);
}

/// What a row of the matrix represents: the node, or name, operation, layer and expert packed.
/// The rows of the matrix are nodes of a graph.
bool has_nodes(const Activity& activity) {
  return !activity.nodes.empty() ||
         std::ranges::any_of(activity.records,
                             [](const ActivityRecord& record) { return record.node_id != 0; });
}

bool has_row(const ActivityRecord& record, bool graph) {
  return is_timed(record) && !(graph && record.node_id == 0);
}

std::uint64_t row_key(const ActivityRecord& record, bool graph) {
  if (graph) return record.node_id;
  static_assert(kMaxNames < 1 << 24);
  return std::uint64_t{record.name} << 40 |
         std::uint64_t{static_cast<std::uint8_t>(record.writes)} << 32 |
         std::uint64_t{static_cast<std::uint8_t>(record.stage)} << 24 |
         std::uint64_t{record.layer} << 16 | static_cast<std::uint16_t>(record.expert);
}

/// Numbers keys in order of first occurrence. Steps repeat: the row that followed last time is
/// tried before the hash table.
class RowNumbers {
 public:
  std::size_t of(std::uint64_t key) {
    if (last_ < next_.size()) {
      const std::size_t expected = next_[last_];
      if (keys_[expected] == key) return last_ = expected;
    }
    const std::size_t row = rows_.try_emplace(key, keys_.size()).first->second;
    if (row == keys_.size()) {
      keys_.push_back(key);
      next_.push_back(row);
    }
    if (last_ < next_.size()) next_[last_] = row;
    return last_ = row;
  }
  std::size_t size() const { return keys_.size(); }

 private:
  std::unordered_map<std::uint64_t, std::size_t> rows_;
  std::vector<std::uint64_t> keys_;
  std::vector<std::size_t> next_;  // the row that followed each last time
  std::size_t last_ = static_cast<std::size_t>(-1);
};

/// The name, and what else tells the row from others of that name; empty layer = all have the same.
std::string row_label(std::string name, const std::string& layer, int expert) {
  if (!layer.empty()) name += fmt::format(" [{}]", layer);
  if (expert >= 0) name += fmt::format(" [expert {}]", expert);
  return name;
}

}  // namespace

bool is_timed(const ActivityRecord& record) {
  return record.iteration >= 0 && record.iteration < engine::kMaxIterations;
}

std::string name_of(const Activity& activity, std::uint32_t name) {
  return name < activity.names.size() ? activity.names[name] : std::string("?");
}

double quantile(std::span<const double> samples, double q) {
  if (samples.empty()) return kNaN;
  // A NaN has no rank.
  if (std::ranges::any_of(samples, [](double sample) { return std::isnan(sample); })) return kNaN;
  std::vector<double> reordered(samples.begin(), samples.end());
  return selected_quantile(reordered, q);
}

std::string iteration_end_text(const engine::RunResult& result) {
  const engine::LaunchMode& launch = result.effective.launch;
  const std::string within = fmt::format("known within ±{} %", launch.median_within);
  switch (result.iteration_end) {
    case engine::IterationEnd::FixedCount:
      break;
    case engine::IterationEnd::Converged:
      return within;
    case engine::IterationEnd::TimeLimit:
      return fmt::format("not {} after {} s", within, launch.time_limit_s);
    case engine::IterationEnd::MaxIterations:
      return fmt::format("not {} after {} iterations", within, engine::kMaxIterations);
  }
  return {};
}

/// Beyond this a reach in percent says less than both ends.
constexpr double kVague = 0.5;

MedianPrecision median_precision(std::span<const double> samples) {
  const engine::Interval interval = engine::median_interval(samples);
  if (std::isnan(interval.low)) return {};
  std::vector<double> reordered(samples.begin(), samples.end());
  const double median = engine::median_of(reordered);
  if (!(median > 0)) return {};
  const double reach = std::max(interval.high - median, median - interval.low) / median;
  const double percent = 100 * reach;
  if (reach > kVague) {
    return {engine::time_range_text(interval.low, interval.high), true};
  }
  return {percent < 10 ? fmt::format("±{:.2g} %", percent) : fmt::format("±{:.0f} %", percent)};
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
  double sum = 0.0;
  bool unordered = false;
  for (const double sample : samples) {
    sum += sample;
    unordered = unordered || std::isnan(sample);
  }
  if (unordered) {
    return {.n = samples.size(),
            .median = kNaN,
            .p5 = kNaN,
            .p95 = kNaN,
            .minimum = kNaN,
            .maximum = kNaN,
            .sum = sum};
  }
  // Selected, not sorted: the quantiles of millions cost a few passes.
  const double median = selected_quantile(samples, 0.5);
  const std::size_t middle = (samples.size() - 1) / 2;
  const double low = selected_quantile(samples, 0.05, 0, middle + 1);
  const double high = selected_quantile(samples, 0.95, middle);
  const auto [minimum, maximum] = std::minmax_element(samples.begin(), samples.end());
  return {.n = samples.size(),
          .median = median,
          .p5 = low,
          .p95 = high,
          .minimum = *minimum,
          .maximum = *maximum,
          .sum = sum};
}

std::vector<KernelSummary> kernel_table(const Activity& activity, TimeRange range,
                                        bool only_iterations) {
  return kernel_table(KernelDurations(activity, range, only_iterations));
}

std::vector<KernelSummary> kernel_table(const KernelDurations& durations) {
  std::vector<KernelSummary> table;
  double total = 0.0;
  for (std::size_t i = 0; i < durations.kernels().size(); ++i) {
    const KernelDurations::Kernel& kernel = durations.kernels()[i];
    const std::span<const double> samples = durations.samples(i);
    table.push_back({.name = kernel.name,
                     .stage = kernel.stage,
                     .writes = kernel.writes,
                     .time = summarize({samples.begin(), samples.end()}),
                     .share = 0.0,
                     .kernel = i});
    table.back().time.sum = kernel.inside_ns;
    total += table.back().time.sum;
  }
  for (KernelSummary& row : table) row.share = total > 0.0 ? row.time.sum / total : 0.0;
  std::sort(table.begin(), table.end(), [](const KernelSummary& a, const KernelSummary& b) {
    // Ties by name and operation, so that equal rows do not swap from frame to frame.
    return std::tuple(-a.time.sum, a.name, a.stage, a.writes) <
           std::tuple(-b.time.sum, b.name, b.stage, b.writes);
  });
  return table;
}

std::vector<ExpertTime> expert_times(const Activity& activity, engine::Stage stage) {
  return expert_times(activity, stage, kAllTime);
}

std::vector<ExpertTime> expert_times(const Activity& activity, engine::Stage stage, TimeRange range,
                                     std::int64_t longest_ns) {
  struct Sum {
    std::int32_t iteration = 0;
    double ns = 0.0;
  };
  std::map<int, std::vector<Sum>> experts;
  std::vector<std::vector<Sum>*> known;  // by expert: one map lookup per expert
  for_each_touching(activity, range, longest_ns, [&](const ActivityRecord& record) {
    if (record.stage != stage || record.expert < 0 || !is_timed(record)) return;
    const auto expert = static_cast<std::size_t>(record.expert);
    if (expert >= known.size()) known.resize(expert + 1, nullptr);
    if (known[expert] == nullptr) known[expert] = &experts[record.expert];
    std::vector<Sum>& sums = *known[expert];
    const auto inside = static_cast<double>(range.inside_ns(record));
    // Records are sorted by start, so an iteration's are mostly consecutive.
    if (!sums.empty() && sums.back().iteration == record.iteration) {
      sums.back().ns += inside;
    } else {
      sums.push_back({.iteration = record.iteration, .ns = inside});
    }
  });
  std::vector<ExpertTime> times;
  for (auto& [expert, sums] : experts) {
    std::ranges::stable_sort(sums, {}, &Sum::iteration);
    std::vector<double> samples;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (i > 0 && sums[i].iteration == sums[i - 1].iteration) {
        samples.back() += sums[i].ns;
      } else {
        samples.push_back(sums[i].ns);
      }
    }
    times.push_back({.expert = expert, .time = summarize(std::move(samples))});
  }
  return times;
}

std::size_t matrix_cells(const Activity& activity) {
  const bool graph = has_nodes(activity);
  RowNumbers numbers;
  std::size_t columns = 0;
  for (const ActivityRecord& record : activity.records) {
    if (!has_row(record, graph)) continue;
    columns = std::max(columns, static_cast<std::size_t>(record.iteration) + 1);
    numbers.of(row_key(record, graph));
  }
  for (const GraphNode& node : activity.nodes) numbers.of(node.id);
  return std::min(numbers.size() * columns, kMaxMatrixCells);
}

NodeMatrix node_matrix(const Activity& activity, engine::StepKind step) {
  NodeMatrix matrix;
  const bool graph = has_nodes(activity);
  int last_layer = 0;
  for (const ActivityRecord& record : activity.records) {
    last_layer = std::max<int>(last_layer, record.layer);
  }
  std::unordered_map<std::uint64_t, const GraphNode*> nodes;
  for (const GraphNode& node : activity.nodes) {
    nodes.emplace(node.id, &node);
    last_layer = std::max<int>(last_layer, node.layer);
  }

  // An operation's name says which projection it is of.
  const int per_layer = step == engine::StepKind::Linear ? 1 : 2;
  const auto layer = [&](int index, engine::WrittenValue writes) -> std::string {
    if (!engine::is_known(writes)) return last_layer > 0 ? engine::layer_words(step, index) : "";
    return last_layer >= per_layer ? fmt::format("layer {}", index / per_layer) : "";
  };

  RowNumbers numbers;
  for (const ActivityRecord& record : activity.records) {
    if (!has_row(record, graph)) continue;
    matrix.iterations = std::max(matrix.iterations, record.iteration + 1);
    if (numbers.of(row_key(record, graph)) < matrix.rows.size()) continue;
    const auto node = nodes.find(record.node_id);
    matrix.rows.push_back({.label = row_label(node != nodes.end() ? node->second->name
                                                                  : name_of(activity, record.name),
                                              layer(record.layer, record.writes), record.expert),
                           .operation = engine::operation_name(step, record.stage, record.writes),
                           .stage = record.stage,
                           .node_id = graph ? record.node_id : 0,
                           .expert = record.expert,
                           .time = {}});
  }
  // A node that never left a record is shown too: an empty row is a finding.
  for (const GraphNode& node : activity.nodes) {
    if (numbers.of(node.id) < matrix.rows.size()) continue;
    matrix.rows.push_back({.label = row_label(node.name, layer(node.layer, node.writes), -1),
                           .operation = engine::operation_name(step, node.stage, node.writes),
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
    if (!has_row(record, graph)) continue;
    const std::size_t row = numbers.of(row_key(record, graph));
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
