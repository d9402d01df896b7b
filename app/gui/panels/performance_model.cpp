// Derivations of the Performance workspace.
#include "app/gui/panels/performance_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "app/gui/plot/format.h"

namespace app {
namespace {

const std::vector<plot::Column> kColumns = {
    {"kernel", 0, false, "Kernel, copy or host span; hover a row for its whole name"},
    {"stage", 66, false, "Stage of the step it works for"},
    {"n", 44, true, "Records in the range"},
    {"median", 64, true, "Median duration of one record"},
    {"p95", 64, true, "95 of 100 records are no longer than this"},
    {"sum", 64, true, "Summed duration in the range"},
    {"share", 50, true, "Of the summed time of all rows"}};

bool inside(const profiling::ActivityRecord& record, profiling::TimeRange range) {
  return record.start_ns >= range.begin_ns && record.start_ns < range.end_ns;
}

plot::Cell time_cell(double nanoseconds) {
  return {plot::duration_text(nanoseconds), nanoseconds, 0};
}

}  // namespace

const std::vector<plot::Column>& kernel_columns() { return kColumns; }

void PerformanceModel::set_run(Run run, std::uint64_t generation) {
  run_ = std::move(run);
  generation_ = generation;
  lanes_ = plot::make_timeline(run_->activity);
  iteration_ns_.clear();
  for (const engine::Iteration& iteration : run_->result.iterations) {
    iteration_ns_.push_back(static_cast<double>(iteration.duration_ns));
  }
  iterations_ = profiling::summarize(iteration_ns_);
  std::array<bool, engine::kStageNames.size()> named{};
  for (const profiling::ActivityRecord& record : run_->activity.records) {
    if (record.expert >= 0 && record.iteration >= 0)
      named[static_cast<std::size_t>(record.stage)] = true;
  }
  expert_stages_.clear();
  // The product first: it is what most people came for.
  if (named[static_cast<std::size_t>(engine::Stage::Fprop)]) {
    expert_stages_.push_back(engine::Stage::Fprop);
  }
  for (std::size_t i = 0; i < named.size(); ++i) {
    const auto stage = static_cast<engine::Stage>(i);
    if (named[i] && stage != engine::Stage::Fprop) expert_stages_.push_back(stage);
  }
  if (stage_index_ >= expert_stages_.size()) stage_index_ = 0;
}

profiling::TimeRange PerformanceModel::time_range() const {
  if (!range_) {
    return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
  return {static_cast<std::int64_t>(std::floor(range_->min)),
          static_cast<std::int64_t>(std::ceil(range_->max))};
}

void PerformanceModel::set_range(std::optional<plot::Range> range, const Theme& theme) {
  range_ = range;
  derive_kernels(theme);
  derive_experts(theme);
}

void PerformanceModel::set_stage(std::size_t index, const Theme& theme) {
  stage_index_ = index;
  derive_experts(theme);
}

void PerformanceModel::derive_kernels(const Theme& theme) {
  // Set-up and checks are left out unless somebody selected them.
  kernels_ = profiling::kernel_table(run_->activity, time_range(), !range_.has_value());
  kernel_rows_.clear();
  ++table_generation_;
  total_ns_ = 0.0;
  records_in_range_ = 0;
  std::array<StageSum, engine::kStageNames.size()> sums{};
  for (const profiling::KernelSummary& kernel : kernels_) {
    const std::string& name = run_->activity.names[kernel.name];
    StageSum& sum = sums[static_cast<std::size_t>(kernel.stage)];
    sum.stage = kernel.stage;
    sum.sum_ns += kernel.time.sum;
    sum.records += kernel.time.n;
    total_ns_ += kernel.time.sum;
    records_in_range_ += kernel.time.n;
    kernel_rows_.push_back(
        {.cells = {{plot::short_kernel_name(name), 0.0, 0},
                   {std::string(engine::stage_name(kernel.stage)), 0.0, theme.colors.dim_text},
                   {plot::count_text(kernel.time.n), static_cast<double>(kernel.time.n), 0},
                   time_cell(kernel.time.median),
                   time_cell(kernel.time.p95),
                   time_cell(kernel.time.sum),
                   {fmt::format("{:.1f} %", 100.0 * kernel.share), kernel.share, 0}},
         .chip = theme.stage(kernel.stage),
         .tooltip = name});
  }
  stage_sums_.assign(sums.begin(), sums.end());
  std::erase_if(stage_sums_, [](const StageSum& sum) { return sum.records == 0; });
  std::ranges::stable_sort(
      stage_sums_, [](const StageSum& a, const StageSum& b) { return a.sum_ns > b.sum_ns; });
  set_row(row_ >= 0 && static_cast<std::size_t>(row_) < kernels_.size() ? row_ : -1);
}

void PerformanceModel::derive_experts(const Theme& theme) {
  experts_.clear();
  expert_bars_.clear();
  if (expert_stages_.empty()) return;
  const engine::Stage stage = expert_stages_[stage_index_];
  if (range_) {
    profiling::Activity selected;
    selected.names = run_->activity.names;
    for (const profiling::ActivityRecord& record : run_->activity.records) {
      if (record.stage == stage && inside(record, time_range())) selected.records.push_back(record);
    }
    experts_ = profiling::expert_times(selected, stage);
  } else {
    experts_ = profiling::expert_times(run_->activity, stage);
  }
  const std::vector<std::int64_t>& splits = run_->result.splits;
  expert_bars_.resize(splits.size());
  for (std::size_t expert = 0; expert < splits.size(); ++expert) {
    expert_bars_[expert].value = std::numeric_limits<double>::quiet_NaN();
    expert_bars_[expert].companion = static_cast<double>(splits[expert]);
  }
  for (const profiling::ExpertTime& expert : experts_) {
    const auto index = static_cast<std::size_t>(expert.expert);
    if (expert.expert < 0 || index >= expert_bars_.size() || expert.time.n == 0) continue;
    plot::Bar& bar = expert_bars_[index];
    bar.value = expert.time.median;
    bar.low = expert.time.p5;
    bar.high = expert.time.p95;
    bar.color = theme.stage(stage);
  }
}

void PerformanceModel::set_row(int row) {
  row_ = row;
  row_bins_ = {};
  // Without a choice the row with the largest sum is shown: an empty plot answers nothing.
  if (kernels_.empty()) return;
  const profiling::KernelSummary& kernel = kernels_[static_cast<std::size_t>(std::max(row, 0))];
  std::vector<double> samples;
  for (const profiling::ActivityRecord& record : run_->activity.records) {
    if (record.name == kernel.name && record.stage == kernel.stage &&
        inside(record, time_range()) && (range_.has_value() || record.iteration >= 0)) {
      samples.push_back(static_cast<double>(record.duration_ns()));
    }
  }
  row_bins_ = plot::linear_bins(samples);
}

const profiling::Distribution* PerformanceModel::row_time() const {
  if (kernels_.empty()) return nullptr;
  return &kernels_[static_cast<std::size_t>(std::max(row_, 0))].time;
}

}  // namespace app
