// What the Performance workspace derives from a run: made once a run and once a selected range,
// never in a frame without a change.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/plot/bar_plot.h"
#include "app/gui/plot/bins.h"
#include "app/gui/plot/sorted_table.h"
#include "app/gui/plot/timeline_plot.h"
#include "profiling/session/session_file.h"
#include "profiling/trace/statistics.h"

namespace app {

struct StageSum {
  engine::Stage stage = engine::Stage::Other;
  double sum_ns = 0.0;
  std::size_t records = 0;
};

class PerformanceModel {
 public:
  using Run = std::shared_ptr<const profiling::RecordedRun>;
  /// Everything that belongs to the whole run.
  void set_run(Run run, std::uint64_t generation);
  /// Everything that follows the timeline's selection.
  void set_range(std::optional<plot::Range> range, const Theme& theme);
  void set_stage(std::size_t index, const Theme& theme);
  /// Histogram of one row of the kernel table, -1 = none.
  void set_row(int row);

  const profiling::RecordedRun& run() const { return *run_; }
  std::uint64_t generation() const { return generation_; }
  /// Names what the table holds: changes with the run and the range.
  std::uint64_t table_generation() const { return table_generation_; }

  const plot::TimelineLanes& lanes() const { return lanes_; }
  const std::vector<double>& iteration_ns() const { return iteration_ns_; }
  const profiling::Distribution& iterations() const { return iterations_; }
  const std::vector<StageSum>& stage_sums() const { return stage_sums_; }
  double total_ns() const { return total_ns_; }
  std::size_t records_in_range() const { return records_in_range_; }
  const std::vector<plot::TableRow>& kernel_rows() const { return kernel_rows_; }
  const std::vector<profiling::KernelSummary>& kernels() const { return kernels_; }
  /// Stages in which records name an expert.
  const std::vector<engine::Stage>& expert_stages() const { return expert_stages_; }
  std::size_t stage_index() const { return stage_index_; }
  const std::vector<profiling::ExpertTime>& experts() const { return experts_; }
  const std::vector<plot::Bar>& expert_bars() const { return expert_bars_; }
  const plot::Bins& row_bins() const { return row_bins_; }
  const profiling::Distribution* row_time() const;

 private:
  profiling::TimeRange time_range() const;
  void derive_kernels(const Theme& theme);
  void derive_experts(const Theme& theme);

  Run run_;
  std::uint64_t generation_ = 0;
  std::uint64_t table_generation_ = 0;
  std::optional<plot::Range> range_;
  plot::TimelineLanes lanes_;
  std::vector<double> iteration_ns_;
  profiling::Distribution iterations_;
  std::vector<StageSum> stage_sums_;
  double total_ns_ = 0.0;
  std::size_t records_in_range_ = 0;
  std::vector<profiling::KernelSummary> kernels_;
  std::vector<plot::TableRow> kernel_rows_;
  std::vector<engine::Stage> expert_stages_;
  std::size_t stage_index_ = 0;
  std::vector<profiling::ExpertTime> experts_;
  std::vector<plot::Bar> expert_bars_;
  int row_ = -1;
  plot::Bins row_bins_;
};

/// Columns of the kernel table.
const std::vector<plot::Column>& kernel_columns();

}  // namespace app
