// Derivations over all records of a run.
#include "app/gui/panels/run_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "app/gui/panels/replay_checks.h"

namespace app {
namespace {

using engine::Stage;

plot::Range joined(plot::Range all, plot::Range more) {
  if (all.empty()) return more;
  return {std::min(all.min, more.min), std::max(all.max, more.max)};
}

std::array<bool, engine::kStageNames.size()> stages_with_experts(
    std::span<const profiling::ActivityRecord> records) {
  std::array<bool, engine::kStageNames.size()> named{};
  for (const profiling::ActivityRecord& record : records) {
    if (record.expert >= 0 && record.iteration >= 0) {
      named[static_cast<std::size_t>(record.stage)] = true;
    }
  }
  return named;
}

/// By method and operation, in the order in which they were measured.
std::vector<MeasuredExperts> measured_experts(const engine::Measurements& measurements) {
  std::vector<MeasuredExperts> all;
  for (const engine::ExpertTiming& timing : measurements.experts) {
    auto found = std::ranges::find_if(all, [&](const MeasuredExperts& one) {
      return one.method == timing.method && one.stage == timing.stage &&
             one.writes == timing.writes;
    });
    if (found == all.end()) {
      all.push_back(
          {.method = timing.method, .stage = timing.stage, .writes = timing.writes, .times = {}});
      found = all.end() - 1;
    }
    constexpr double kNotKept = std::numeric_limits<double>::quiet_NaN();
    found->times.push_back({.expert = timing.expert,
                            .time = {.n = static_cast<std::size_t>(timing.samples),
                                     .median = timing.median_ns,
                                     .p5 = timing.p5_ns,
                                     .p95 = timing.p95_ns,
                                     .minimum = kNotKept,
                                     .maximum = kNotKept,
                                     .sum = kNotKept}});
  }
  return all;
}

}  // namespace

bool WorkPulse::due(bool working) {
  const auto now = std::chrono::steady_clock::now();
  if (!working || now - last_ < std::chrono::milliseconds(100)) return false;
  last_ = now;
  return true;
}

DerivationSize derivation_size(const profiling::RecordedRun& run) {
  const profiling::Activity& activity = run.activity;
  const engine::RunResult& result = run.result;
  DerivationSize size{.visited = activity.records.size() + activity.host_events.size() +
                                 activity.memory_events.size() + activity.nodes.size() +
                                 run.power.samples.size() + result.iterations.size() +
                                 result.measurements.experts.size() + result.replay_checks.size()};
  for (const engine::TiledLaunch& launch : result.measurements.tiled_launches) {
    size.visited += launch.kept.size();
  }
  // The cells are counted record by record, which a large run is not worth.
  if (size.visited > kVisitedAtOnce) return size;
  size.cells = profiling::matrix_cells(activity) + strip_cells(result.replay_checks);
  return size;
}

std::shared_ptr<const RunPicture> make_run_picture(RecordedRunPointer run) {
  auto picture = std::make_shared<RunPicture>();
  const std::vector<profiling::ActivityRecord>& records = run->activity.records;
  picture->spans = profiling::iteration_spans(records);
  picture->iterations = iteration_series(*run);
  picture->refreshes = profiling::power_refreshes(run->power.samples);
  const auto named = stages_with_experts(records);
  // The product first: it is usually what matters.
  for (const bool product : {true, false}) {
    for (std::size_t i = 0; i < named.size(); ++i) {
      const auto stage = static_cast<Stage>(i);
      if (named[i] && (stage == Stage::Fprop) == product) picture->expert_stages.push_back(stage);
    }
  }
  picture->measured_experts = measured_experts(run->result.measurements);
  for (const engine::TiledLaunch& launch : run->result.measurements.tiled_launches) {
    picture->launches.push_back(plot::launch_rows(launch));
  }
  picture->stamped = profiling::stamped_spans(run->result, records);
  picture->roofline = profiling::roofline_points(run->result, run->activity);
  picture->unplaced = profiling::unknown_work(run->result, engine::Stage::Quantize);
  picture->operations = profiling::explained_step(run->result);
  picture->names = profiling::work_labels(run->activity, run->result.effective.step);
  for (const profiling::ActivityRecord& record : records) {
    picture->names_experts = picture->names_experts || record.expert >= 0;
    const plot::Range range{static_cast<double>(record.start_ns),
                            static_cast<double>(record.end_ns)};
    picture->limits = joined(picture->limits, range);
    if (record.iteration >= 0) picture->timed = joined(picture->timed, range);
  }
  picture->events = profiling::event_records(run->activity);
  for (const auto* events : {&picture->events.host, &picture->events.memory}) {
    for (const profiling::ActivityRecord& event : *events) {
      picture->limits = joined(picture->limits, {static_cast<double>(event.start_ns),
                                                 static_cast<double>(event.end_ns)});
    }
  }
  // Between iterations the profiler checks their results, which is not the step's own time.
  if (const profiling::ActivityRecord* step = profiling::median_iteration(picture->spans)) {
    picture->step = plot::padded(
        {static_cast<double>(step->start_ns), static_cast<double>(step->end_ns)}, 0.02);
  }
  if (!picture->timed.empty()) picture->timed = plot::padded(picture->timed, 0.01);
  if (!picture->limits.empty()) picture->limits = plot::padded(picture->limits, 0.005);
  picture->run = std::move(run);
  return picture;
}

std::shared_ptr<const LanePicture> make_lanes(std::shared_ptr<const RunPicture> run,
                                              plot::LaneChoice choice) {
  auto picture = std::make_shared<LanePicture>();
  picture->lanes =
      plot::make_timeline(run->run->activity, run->spans, run->events, run->stamped, choice);
  picture->lanes.limits = run->limits;
  picture->lanes.names = run->names;
  picture->lanes.timed = run->timed;
  picture->lanes.step = run->step;
  picture->run = std::move(run);
  return picture;
}

profiling::TimeRange time_range(const std::optional<plot::Range>& range) {
  if (!range) {
    return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
  return {static_cast<std::int64_t>(std::floor(range->min)),
          static_cast<std::int64_t>(std::ceil(range->max))};
}

std::shared_ptr<const RangePicture> make_range_picture(const profiling::RecordedRun& run,
                                                       std::optional<plot::Range> range,
                                                       RunSumsPointer sums) {
  auto picture = std::make_shared<RangePicture>();
  if (sums == nullptr) {
    sums = std::make_shared<const RunSums>(
        RunSums{.replays = profiling::sum_replays(run.activity),
                .longest_ns = profiling::longest_record_ns(run.activity)});
  }
  picture->range = range;
  const profiling::TimeRange time = time_range(range);
  {
    const profiling::KernelDurations durations(run.activity, time, !range.has_value(),
                                               sums->longest_ns);
    picture->kernels = profiling::kernel_table(durations);
    for (const profiling::KernelSummary& kernel : picture->kernels) {
      picture->bins.push_back(plot::linear_bins(durations.samples(kernel.kernel)));
    }
  }
  std::array<StageSum, engine::kStageNames.size()> stages{};
  for (const profiling::KernelSummary& kernel : picture->kernels) {
    StageSum& sum = stages[static_cast<std::size_t>(kernel.stage)];
    sum.stage = kernel.stage;
    sum.sum_ns += kernel.time.sum;
    sum.records += kernel.time.n;
    picture->total_ns += kernel.time.sum;
    picture->records += kernel.time.n;
  }
  picture->stage_sums.assign(stages.begin(), stages.end());
  std::erase_if(picture->stage_sums,
                [](const StageSum& sum) { return sum.records == 0 && sum.sum_ns <= 0.0; });
  std::ranges::stable_sort(picture->stage_sums, [](const StageSum& a, const StageSum& b) {
    return a.sum_ns > b.sum_ns;
  });
  picture->gaps = profiling::summarize_gaps(sums->replays, time);
  const auto named =
      stages_with_experts(profiling::records_touching(run.activity, time, sums->longest_ns));
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (!named[i]) continue;
    const auto stage = static_cast<Stage>(i);
    std::vector<profiling::ExpertTime> times =
        profiling::expert_times(run.activity, stage, time, sums->longest_ns);
    if (!times.empty()) picture->experts.push_back({.stage = stage, .times = std::move(times)});
  }
  picture->sums = std::move(sums);
  return picture;
}

}  // namespace app
