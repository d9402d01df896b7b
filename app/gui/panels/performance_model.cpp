// Derivations of the Performance page.
#include "app/gui/panels/performance_model.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <utility>

#include "engine/model/guarded_thread.h"
#include "profiling/document/roof_sentence.h"
#include "profiling/document/run_tables.h"

namespace app {
namespace {

const std::vector<profiling::ExpertTime> kNoExperts;
const plot::Bins kNoBins;

std::string sentence_of_longest(const profiling::RecordedRun& run,
                                const std::vector<profiling::KernelSummary>& largest_first,
                                std::span<const profiling::OperationPoint> points) {
  if (largest_first.empty()) return {};
  // The longest of those that are rated: that another has no rate says nothing about the run.
  const auto rated = std::ranges::find_if(largest_first, [&](const auto& kernel) {
    return std::ranges::any_of(points, [&kernel](const profiling::OperationPoint& point) {
      return point.stage == kernel.stage && point.writes == kernel.writes;
    });
  });
  const profiling::KernelSummary& longest =
      rated == largest_first.end() ? largest_first.front() : *rated;
  return profiling::roof_sentence(run.result, points, longest.stage, longest.writes);
}

}  // namespace

PerformanceModel::PerformanceModel(const std::function<void()>& wake)
    : run_task_(wake), range_task_(wake), lane_task_(wake) {}

void PerformanceModel::set_run(RecordedRunPointer run, std::uint64_t generation) {
  generation_ = generation;
  wanted_run_ = std::move(run);
  // Requests for the last run are dropped with it.
  range_task_.drop();
  lane_task_.drop();
  show(derive(*wanted_run_, run_task_, [run = wanted_run_, choice = choice_] {
    // The sums on a second thread: a large recording appears after the longer of the two.
    std::shared_ptr<const RangePicture> sums;
    std::string failure;
    engine::GuardedThread summing([&] { sums = make_range_picture(*run, std::nullopt); },
                                  [&](const engine::Error& error) { failure = error.message; });
    std::shared_ptr<const LanePicture> lanes = make_lanes(make_run_picture(run), choice);
    summing.join();
    if (sums == nullptr) throw std::runtime_error(failure);
    std::vector<profiling::OperationPoint> points =
        profiling::operation_points(run->result, run->activity);
    std::string sentence = sentence_of_longest(*run, sums->kernels, points);
    return RunDerivations{std::move(lanes), std::move(sums), std::move(points),
                          std::move(sentence)};
  }));
}

void PerformanceModel::set_range(std::optional<plot::Range> range) {
  // The selection was on the last run's axis, or on that of one without a picture.
  if (run_task_.running() || !ready()) return;
  show(derive(*wanted_run_, range_task_, [run = wanted_run_, range, sums = range_->sums] {
    return make_range_picture(*run, range, sums);
  }));
}

void PerformanceModel::set_lanes(plot::LaneChoice choice) {
  choice_ = choice;
  if (wanted_run_ == nullptr) return;
  if (run_task_.running() || !ready()) return set_run(wanted_run_, generation_);
  show(derive(*wanted_run_, lane_task_,
              [run = lanes_->run, choice] { return make_lanes(run, choice); }));
}

bool PerformanceModel::show(std::optional<RunDerivations> made) {
  if (!made) return false;
  lanes_ = std::move(made->lanes);
  range_ = std::move(made->range);
  points_ = std::move(made->points);
  longest_kernels_ = std::move(made->sentence);
  ++derived_;
  return true;
}

bool PerformanceModel::show(std::optional<std::shared_ptr<const RangePicture>> made) {
  if (!made) return false;
  range_ = std::move(*made);
  ++derived_;
  return true;
}

bool PerformanceModel::show(std::optional<std::shared_ptr<const LanePicture>> made) {
  if (!made) return false;
  lanes_ = std::move(*made);
  ++derived_;
  return true;
}

bool PerformanceModel::take() {
  const bool run = show(run_task_.take());
  const bool range = show(range_task_.take());
  const bool lanes = show(lane_task_.take());
  return run || range || lanes;
}

void PerformanceModel::set_source(std::size_t index) {
  chosen_source_ = source(index);
  source_index_ = index;
}

std::size_t PerformanceModel::source_to_show() const {
  std::size_t most = 0;
  double most_ns = 0.0;
  for (std::size_t i = 0; i < source_count(); ++i) {
    if (chosen_source_ && source(i) == *chosen_source_) return i;
    double sum_ns = 0.0;
    for (const profiling::ExpertTime& expert : experts_of(i)) {
      if (expert.time.n > 0) sum_ns += expert.time.median;
    }
    if (sum_ns <= most_ns) continue;
    most = i;
    most_ns = sum_ns;
  }
  return most;
}

std::size_t PerformanceModel::source_count() const {
  return picture().expert_stages.size() + picture().measured_experts.size();
}

PerformanceModel::ExpertSource PerformanceModel::source(std::size_t index) const {
  const std::vector<engine::Stage>& stages = picture().expert_stages;
  if (index < stages.size()) return {.method = engine::ExpertMethod::Trace, .stage = stages[index]};
  const MeasuredExperts& measured = picture().measured_experts[index - stages.size()];
  return {measured.method, measured.stage, measured.writes};
}

void PerformanceModel::lay_out(const Theme& theme) {
  const auto made = made_at_once([&] {
    lay_out_all(theme);
    return true;
  });
  if (made) return;
  lanes_ = nullptr;
  range_ = nullptr;
}

void PerformanceModel::lay_out_all(const Theme& theme) {
  const bool same = laid_out_ == derived_ && laid_out_theme_ == theme.kind;
  if (!same) {
    source_index_ = source_to_show();
    kernels_ = plot::drawn(profiling::kernels_table(run(), kernels(), points_), theme);
    operations_ = plot::drawn(
        profiling::operations_table(run().result.effective, picture().operations), theme);
    ++table_generation_;
  }
  if (!same || laid_out_source_ != source_index_) lay_out_experts(theme);
  laid_out_ = derived_;
  laid_out_theme_ = theme.kind;
  laid_out_source_ = source_index_;
}

const std::vector<profiling::ExpertTime>& PerformanceModel::experts_of(std::size_t source) const {
  if (source >= source_count()) return kNoExperts;
  const std::vector<engine::Stage>& stages = picture().expert_stages;
  if (source >= stages.size()) return picture().measured_experts[source - stages.size()].times;
  for (const RangePicture::StageExperts& experts : range_->experts) {
    if (experts.stage == stages[source]) return experts.times;
  }
  return kNoExperts;
}

void PerformanceModel::compare_methods() {
  agreements_.clear();
  const ExpertSource mine = source(source_index_);
  for (std::size_t other = 0; other < source_count(); ++other) {
    // Another operation of the stage by the same method is no other measurement of it.
    if (other == source_index_ || source(other).stage != mine.stage ||
        source(other).method == mine.method) {
      continue;
    }
    std::map<int, double> medians;
    for (const profiling::ExpertTime& expert : experts_of(other)) {
      medians[expert.expert] = expert.time.median;
    }
    std::vector<double> ratios;
    for (const profiling::ExpertTime& expert : experts()) {
      const auto found = medians.find(expert.expert);
      if (found != medians.end() && found->second > 0.0) {
        ratios.push_back(expert.time.median / found->second);
      }
    }
    if (ratios.empty()) continue;
    agreements_.push_back(
        {.other = source(other), .ratio = profiling::summarize(std::move(ratios))});
  }
}

void PerformanceModel::lay_out_experts(const Theme& theme) {
  expert_bars_.clear();
  agreements_.clear();
  if (source_count() == 0) return;
  compare_methods();
  const engine::Stage stage = source(source_index_).stage;
  // Times are those of all iterations; with recorded steps the rows are too.
  const std::vector<std::int64_t> splits = engine::mean_splits(run().result);
  expert_bars_.resize(splits.size());
  for (std::size_t expert = 0; expert < splits.size(); ++expert) {
    expert_bars_[expert].value = std::numeric_limits<double>::quiet_NaN();
    expert_bars_[expert].companion = static_cast<double>(splits[expert]);
  }
  for (const profiling::ExpertTime& expert : experts()) {
    const auto index = static_cast<std::size_t>(expert.expert);
    if (expert.expert < 0 || index >= expert_bars_.size() || expert.time.n == 0) continue;
    plot::Bar& bar = expert_bars_[index];
    bar.value = expert.time.median;
    bar.low = expert.time.p5;
    bar.high = expert.time.p95;
    bar.color = theme.stage(stage);
  }
}

const plot::Bins& PerformanceModel::row_bins(int row) const {
  // Without a choice the row with the largest sum is shown instead of an empty plot.
  const auto shown = static_cast<std::size_t>(std::max(row, 0));
  return shown < range_->bins.size() ? range_->bins[shown] : kNoBins;
}

}  // namespace app
