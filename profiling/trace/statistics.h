// Summaries of activity: percentiles, kernel totals, per-expert times, the replay x node matrix. No
// CUDA.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "engine/model/run_result.h"
#include "profiling/trace/activity.h"

namespace profiling {

// Durations of the records in a time range, grouped by kernel and stage in two passes over the
// records without a hash table: a range of ten million takes a fraction of a second.
//
// What a range counts: sums and shares take the time inside the range, so that a record that it
// cuts counts in part; n and quantiles of kernels take the records that lie inside as a whole,
// because a part of a record is no duration. A sample of an expert is its time inside the range,
// iteration by iteration.

struct TimeRange {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;  // exclusive

  bool contains(std::int64_t time_ns) const { return time_ns >= begin_ns && time_ns < end_ns; }
  bool contains(const ActivityRecord& record) const {
    return contains(record.start_ns) && record.end_ns <= end_ns;
  }
  /// Part of the record's duration that lies inside; at least 0.
  std::int64_t inside_ns(const ActivityRecord& record) const {
    return std::max<std::int64_t>(
        std::min(record.end_ns, end_ns) - std::max(record.start_ns, begin_ns), 0);
  }
};
inline constexpr TimeRange kAllTime = {std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max()};

class KernelDurations {
 public:
  struct Kernel {
    std::uint32_t name = 0;
    engine::Stage stage = engine::Stage::Other;
    engine::WrittenValue writes = engine::WrittenValue::Unknown;
    std::size_t first = 0;   // first of its samples
    std::size_t count = 0;   // records that lie inside as a whole
    double inside_ns = 0.0;  // time of all its records inside the range
  };

  /// `activity.records` must be sorted by start. `only_iterations` leaves out set-up and checks.
  /// `longest_ns`: no record is longer; it saves a search for records that begin before the range.
  KernelDurations(const Activity& activity, TimeRange range, bool only_iterations,
                  std::int64_t longest_ns = kAllTime.end_ns);

  /// Kernels with time in the range, by name, stage and what they write.
  const std::vector<Kernel>& kernels() const { return kernels_; }
  /// Nanoseconds, in order of start.
  std::span<const double> samples(std::size_t kernel) const {
    return {samples_.data() + kernels_[kernel].first, kernels_[kernel].count};
  }

 private:
  std::vector<Kernel> kernels_;
  std::vector<double> samples_;
};

/// The part of the records, sorted by start, that starts inside the range.
std::span<const ActivityRecord> records_in(const Activity& activity, TimeRange range);
/// The part of the records that has all those with time in the range, and a few before it.
/// `longest_ns`: no record is longer.
std::span<const ActivityRecord> records_touching(const Activity& activity, TimeRange range,
                                                 std::int64_t longest_ns);
/// The longest duration of a record; 0 without records.
std::int64_t longest_record_ns(const Activity& activity);

/// A number that nothing was measured for.
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Linear-interpolated quantile of unsorted samples, as numpy's default method has it; NaN when
/// empty. q is in [0, 1] and counts to three decimals.
double quantile(std::span<const double> samples, double q);

/// Whether a record belongs to one of the timed iterations.
bool is_timed(const ActivityRecord& record);
/// "?" for a number that names nothing.
std::string name_of(const Activity& activity, std::uint32_t name);

/// Nanoseconds; NaN where n is 0, but for the sum of a range that only cuts records.
struct Distribution {
  std::size_t n = 0;
  double median = 0, p5 = 0, p95 = 0, minimum = 0, maximum = 0, sum = 0;
};
Distribution summarize(std::vector<double> samples);

/// How well the median of some times is known.
struct MedianPrecision {
  /// "±0.8 %": how far the 95 % interval of the median (engine/model/median_interval.h) reaches
  /// from it, on its wider side. Empty = not known.
  std::string text;
  /// The interval is so wide that a percentage would say nothing: the text has both of its ends,
  /// "2.100 to 322.0 ms".
  bool vague = false;
};
/// `samples` are ns. Not known if there are too few, or the median is 0.
MedianPrecision median_precision(std::span<const double> samples);

/// Why iterations ended that went on until their median was known: "known within ±1 %", "not known
/// within ±1 % after 10 s". Empty for a fixed number of them.
std::string iteration_end_text(const engine::RunResult& result);

/// One row of the kernel table: all records of one kernel in one operation, in all layers.
struct KernelSummary {
  std::uint32_t name = 0;
  engine::Stage stage = engine::Stage::Other;
  engine::WrittenValue writes = engine::WrittenValue::Unknown;
  Distribution time;
  double share = 0.0;      // of the summed time of all rows
  std::size_t kernel = 0;  // index of its durations
};

/// Largest total first (`records` must be sorted by start). `only_iterations` leaves out set-up and
/// checks.
std::vector<KernelSummary> kernel_table(const Activity& activity, TimeRange range,
                                        bool only_iterations);
/// The same from existing durations.
std::vector<KernelSummary> kernel_table(const KernelDurations& durations);

/// Time of one expert in one iteration summed over its records of `stage`, over all iterations.
/// Empty if no record names an expert: then the time is unknown and must not be guessed.
struct ExpertTime {
  int expert = 0;
  Distribution time;
};
std::vector<ExpertTime> expert_times(const Activity& activity, engine::Stage stage);
/// The time inside the range: an iteration that it cuts counts in part.
std::vector<ExpertTime> expert_times(const Activity& activity, engine::Stage stage, TimeRange range,
                                     std::int64_t longest_ns = kAllTime.end_ns);

/// Rows = graph nodes (or, without a graph, distinct (operation, layer, expert, name)), in order of
/// first start; columns = iterations.
struct NodeMatrix {
  struct Row {
    std::string label;
    std::string operation;  // engine::operation_name()
    engine::Stage stage = engine::Stage::Other;
    std::uint64_t node_id = 0;
    int expert = -1;
    Distribution time;
  };
  std::vector<Row> rows;
  int iterations = 0;
  std::vector<float> duration_ns;  // [rows, iterations]; NaN = no record
  std::size_t omitted_rows = 0;    // last rows, omitted to stay within kMaxMatrixCells
};
inline constexpr std::size_t kMaxMatrixCells = std::size_t{1} << 26;
/// `step` says what the layers in the labels count.
NodeMatrix node_matrix(const Activity& activity, engine::StepKind step = engine::StepKind::Linear);
/// Number of cells of that matrix, without building it.
std::size_t matrix_cells(const Activity& activity);

}  // namespace profiling
