// What follows a selection on the timeline, compared with sums over all records.
#include "app/gui/panels/run_picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "app/gui/panels/performance_model.h"
#include "app/gui/panels/replay_checks.h"

namespace app {
namespace {

/// Two streams that overlap occasionally, with gaps, in replays of two to nine records.
profiling::RecordedRun synthetic_run(int replays) {
  profiling::RecordedRun run;
  run.activity.names = {"a", "b", "c"};
  std::mt19937 random(7);
  const auto below = [&](int most) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
  };
  std::int64_t time_ns = 0;
  for (int replay = 0; replay < replays; ++replay) {
    const std::int64_t records = 2 + below(8);
    for (std::int64_t i = 0; i < records; ++i) {
      profiling::ActivityRecord record;
      record.kind = profiling::ActivityKind::Kernel;
      record.name = static_cast<std::uint32_t>(below(3));
      record.stage = record.name == 0 ? engine::Stage::Fprop : engine::Stage::Quantize;
      record.iteration = replay;
      record.start_ns = time_ns;
      record.end_ns = time_ns + 1 + below(200);
      run.activity.records.push_back(record);
      time_ns += below(260);
    }
    time_ns += 300;
  }
  return run;
}

/// Nanosecond by nanosecond.
std::vector<double> plain_gaps(const profiling::RecordedRun& run, profiling::TimeRange range) {
  std::map<int, std::vector<profiling::ActivityRecord>> replays;
  for (const profiling::ActivityRecord& record : run.activity.records) {
    replays[record.iteration].push_back(record);
  }
  std::vector<double> gaps;
  for (const auto& [replay, records] : replays) {
    std::int64_t end_ns = 0;
    for (const auto& record : records) end_ns = std::max(end_ns, record.end_ns);
    const std::int64_t begin_ns = records.front().start_ns;
    if (begin_ns < range.begin_ns || end_ns > range.end_ns) continue;
    std::vector<bool> busy(static_cast<std::size_t>(end_ns - begin_ns), false);
    for (const auto& record : records) {
      for (std::int64_t at = record.start_ns; at < record.end_ns; ++at) {
        busy[static_cast<std::size_t>(at - begin_ns)] = true;
      }
    }
    gaps.push_back(static_cast<double>(std::ranges::count(busy, false)));
  }
  return gaps;
}

TEST(RangePicture, ASelectionEqualsAPlainSumOverIt) {
  const profiling::RecordedRun run = synthetic_run(200);
  const auto whole = make_range_picture(run, std::nullopt);
  ASSERT_EQ(whole->sums->replays.size(), 200U);
  const auto end = static_cast<double>(run.activity.records.back().start_ns);
  std::mt19937 random(11);
  std::uniform_real_distribution<double> anywhere(0.0, end);
  int with_gaps = 0;
  int cut_records = 0;
  for (int i = 0; i < 100; ++i) {
    const plot::Range range = plot::between(anywhere(random), anywhere(random));
    const auto picture = make_range_picture(run, range, whole->sums);
    EXPECT_EQ(picture->sums, whole->sums) << "summed once";
    const profiling::TimeRange time = time_range(range);
    double sum_ns = 0;
    std::size_t records = 0;
    for (const profiling::ActivityRecord& record : run.activity.records) {
      if (record.end_ns <= time.begin_ns || record.start_ns >= time.end_ns) continue;
      const bool cut = record.start_ns < time.begin_ns || record.end_ns > time.end_ns;
      cut_records += cut ? 1 : 0;
      records += cut ? 0 : 1;
      sum_ns += static_cast<double>(std::min(record.end_ns, time.end_ns) -
                                    std::max(record.start_ns, time.begin_ns));
    }
    EXPECT_EQ(picture->records, records);
    EXPECT_DOUBLE_EQ(picture->total_ns, sum_ns);
    std::vector<double> gaps = plain_gaps(run, time);
    ASSERT_EQ(picture->gaps.has_value(), !gaps.empty());
    if (gaps.empty()) continue;
    ++with_gaps;
    EXPECT_EQ(picture->gaps->gaps.n, gaps.size());
    EXPECT_DOUBLE_EQ(picture->gaps->gaps.sum, std::accumulate(gaps.begin(), gaps.end(), 0.0));
    EXPECT_DOUBLE_EQ(picture->gaps->gaps.median, profiling::summarize(gaps).median);
  }
  EXPECT_GT(with_gaps, 50);
  EXPECT_GT(cut_records, 50);
}

/// Where a run's derivations happen follows all that they work through, not its records alone.
TEST(Derive, ARunWithFewRecordsMayStillBeLarge) {
  EXPECT_TRUE(derived_at_once(synthetic_run(20)));
  EXPECT_FALSE(derived_at_once(synthetic_run(2000)));
  const auto large = [](auto change) {
    profiling::RecordedRun run = synthetic_run(2);
    change(run);
    return !derived_at_once(run);
  };
  EXPECT_TRUE(large([](auto& run) {
    run.result.replay_checks = {{.replay = engine::kMaxIterations,
                                 .layer = 2 * engine::kMaxLayers - 1,
                                 .micro_batch = engine::kMaxInFlight - 1,
                                 .wrong_experts = {}}};
  })) << "one check, and millions of cells";
  constexpr std::size_t kMany = 100'000;
  EXPECT_TRUE(large([](auto& run) { run.result.replay_checks.resize(kMany); }));
  EXPECT_TRUE(large([](auto& run) { run.result.iterations.resize(kMany); }));
  EXPECT_TRUE(large([](auto& run) { run.result.measurements.experts.resize(kMany); }));
  EXPECT_TRUE(large([](auto& run) { run.power.samples.resize(kMany); }));
  EXPECT_TRUE(large([](auto& run) {
    run.result.measurements.tiled_launches.resize(1);
    run.result.measurements.tiled_launches[0].kept.resize(kMany);
  }));
  EXPECT_TRUE(large([](auto& run) { run.activity.nodes.resize(kMany); }));
  EXPECT_TRUE(large([](auto& run) { run.activity.host_events.resize(kMany); }));
  EXPECT_TRUE(large([](auto& run) { run.activity.memory_events.resize(kMany); }));
  EXPECT_TRUE(large([](auto& run) {
    for (std::uint32_t i = 0; i < 1000; ++i) {
      profiling::ActivityRecord& record = run.activity.records.emplace_back();
      record.kind = profiling::ActivityKind::Kernel;
      record.node_id = i + 1;
      record.iteration = 999;
    }
  })) << "a million cells of the matrix";
}

TEST(Derive, TheSizesAreThoseOfWhatIsMade) {
  profiling::RecordedRun run = synthetic_run(50);
  run.result.replay_checks = {
      {.replay = 7, .layer = 1, .micro_batch = 2, .wrong_experts = {}},
      {.replay = 3, .product = engine::Product::Wgrad, .wrong_experts = {}}};
  const profiling::NodeMatrix matrix = profiling::node_matrix(run.activity);
  const CheckStrip strip =
      make_check_strip(run.result.replay_checks, engine::StepKind::ExpertLayer);
  EXPECT_EQ(derivation_size(run).cells, matrix.duration_ns.size() + strip.grid.values.size());
  EXPECT_EQ(strip.grid.values.size(), 7U * 3 * 2 * 2);
}

/// An exception must not leave the window's thread.
TEST(Derive, AFailureInTheFrameIsReported) {
  BackgroundTask<int> task([] {});
  const profiling::RecordedRun run = synthetic_run(2);
  EXPECT_EQ(derive(run, task, [] { return 7; }), 7);
  EXPECT_EQ(derive(run, task, []() -> int { throw std::runtime_error("no sums"); }), std::nullopt);
  EXPECT_FALSE(task.running());
  EXPECT_EQ(BackgroundFailures::take(), std::vector<std::string>{"no sums"});
}

/// Opening on a stage that takes little hides where the time goes.
TEST(PerformanceModel, OpensOnTheStageWhoseExpertsTakeMostAndKeepsAChoice) {
  profiling::RecordedRun run = synthetic_run(3);
  const auto add = [&run](engine::ExpertMethod method, engine::Stage stage, double median) {
    for (int expert = 0; expert < 2; ++expert) {
      run.result.measurements.experts.push_back({.method = method,
                                                 .stage = stage,
                                                 .expert = expert,
                                                 .samples = 9,
                                                 .median_ns = median,
                                                 .p5_ns = median,
                                                 .p95_ns = median});
    }
  };
  add(engine::ExpertMethod::Stamps, engine::Stage::Quantize, 50e9);
  add(engine::ExpertMethod::Isolated, engine::Stage::Fprop, 90e9);
  const auto shared = std::make_shared<const profiling::RecordedRun>(std::move(run));
  const Theme theme;
  PerformanceModel model([] {});
  const auto shown = [&](std::uint64_t generation) {
    model.set_run(shared, generation);
    while (!model.ready()) model.take();
    model.lay_out(theme);
    return model.source(model.source_index()).stage;
  };
  EXPECT_EQ(shown(1), engine::Stage::Fprop);
  for (std::size_t i = 0; i < model.source_count(); ++i) {
    if (model.source(i).stage == engine::Stage::Quantize) model.set_source(i);
  }
  EXPECT_EQ(shown(2), engine::Stage::Quantize);
}

/// Kept drawings are identified by this number: lanes of another choice may have the same number of
/// rows.
TEST(PerformanceModel, EveryChoiceOfLanesHasItsOwnGeneration) {
  PerformanceModel model([] {});
  model.set_run(std::make_shared<const profiling::RecordedRun>(synthetic_run(3)), 1);
  const std::uint64_t streams = model.derived();
  model.set_lanes(plot::LaneChoice::Replays);
  EXPECT_NE(model.derived(), streams);
}

}  // namespace
}  // namespace app
