// Spans of experts from stamped launches, and where they lie in other launches.
#include "profiling/trace/stamped_spans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/model/tiled_launch.h"
#include "profiling/trace/timeline_lanes.h"

namespace {

using engine::LaunchTile;
using engine::Stage;
using engine::StepTensor;
using engine::TiledLaunch;
using engine::WrittenValue;
using profiling::ActivityKind;
using profiling::ActivityRecord;
using profiling::StampedOperation;
using profiling::StampedSpans;
using profiling::TileSpan;

constexpr WrittenValue kDw = engine::written(StepTensor::DWUp);

ActivityRecord launch_record(std::int64_t start_ns, std::int64_t end_ns) {
  return {.start_ns = start_ns,
          .end_ns = end_ns,
          .name = 3,
          .iteration = 0,
          .kind = ActivityKind::Kernel,
          .stage = Stage::Wgrad,
          .writes = kDw};
}

/// 1000 ns on two multiprocessors. Expert 0 pauses from 200 to 300; expert 2 has no tiles.
TiledLaunch launch_of_three() {
  return engine::tiled_launch(
      Stage::Wgrad, kDw, 2,
      {{.begin_ns = 5000, .end_ns = 5200, .multiprocessor = 0, .expert = 0, .tile = 0},
       {.begin_ns = 5050, .end_ns = 5150, .multiprocessor = 1, .expert = 0, .tile = 1},
       {.begin_ns = 5300, .end_ns = 5500, .multiprocessor = 0, .expert = 0, .tile = 2},
       {.begin_ns = 5400, .end_ns = 6000, .multiprocessor = 1, .expert = 1, .tile = 3},
       {.begin_ns = 5500, .end_ns = 5700, .multiprocessor = 0, .expert = 3, .tile = 4}});
}

engine::RunResult result_with(std::vector<TiledLaunch> launches) {
  engine::RunResult result;
  result.measurements.tiled_launches = std::move(launches);
  return result;
}

std::vector<TileSpan> placed(const ActivityRecord& record, const StampedOperation& operation,
                             std::size_t lane) {
  return profiling::placed_spans(record, operation, operation.lanes[lane].whole,
                                 {.begin_ns = 0, .end_ns = 1'000'000}, 0);
}

TEST(StampedSpans, AreStretchedToTheLaunch) {
  const std::vector<ActivityRecord> records = {launch_record(10'000, 12'000)};
  const StampedSpans spans = profiling::stamped_spans(result_with({launch_of_three()}), records);
  ASSERT_EQ(spans.operations.size(), 1U);
  EXPECT_EQ(spans.experts, 4);
  const StampedOperation* operation = spans.of(records[0]);
  ASSERT_EQ(operation, &spans.operations[0]);
  EXPECT_EQ(operation->duration_ns, 1000);
  ASSERT_EQ(operation->lanes.size(), 4U);
  EXPECT_EQ(placed(records[0], *operation, 0), (std::vector<TileSpan>{{10'000, 11'000}}));
  EXPECT_EQ(placed(records[0], *operation, 1), (std::vector<TileSpan>{{10'800, 12'000}}));
  EXPECT_TRUE(placed(records[0], *operation, 2).empty());
  EXPECT_EQ(placed(records[0], *operation, 3), (std::vector<TileSpan>{{11'000, 11'400}}));
  // Tiles that overlap or touch are one busy span; a pause separates two.
  const std::vector<TileSpan>& busy = operation->lanes[0].busy;
  EXPECT_EQ(busy, (std::vector<TileSpan>{{0, 200}, {300, 500}}));
}

TEST(StampedSpans, OnlyThoseInViewArePlacedAndNarrowPausesAreClosed) {
  const ActivityRecord record = launch_record(10'000, 12'000);
  const StampedSpans spans =
      profiling::stamped_spans(result_with({launch_of_three()}), std::vector{record});
  const StampedOperation& operation = spans.operations.at(0);
  const std::vector<TileSpan>& busy = operation.lanes[0].busy;
  EXPECT_EQ(profiling::placed_spans(record, operation, busy, {0, 10'400}, 0),
            (std::vector<TileSpan>{{10'000, 10'400}}));
  EXPECT_EQ(profiling::placed_spans(record, operation, busy, {10'400, 20'000}, 0),
            (std::vector<TileSpan>{{10'600, 11'000}}));
  EXPECT_EQ(profiling::placed_spans(record, operation, busy, {0, 20'000}, 201),
            (std::vector<TileSpan>{{10'000, 11'000}}));
  EXPECT_TRUE(profiling::placed_spans(record, operation, busy, {11'000, 20'000}, 0).empty());
}

TEST(StampedSpans, WhoRunsAtATime) {
  const ActivityRecord record = launch_record(0, 1000);
  const StampedSpans spans =
      profiling::stamped_spans(result_with({launch_of_three()}), std::vector{record});
  const StampedOperation& operation = spans.operations.at(0);
  const auto at = [&](std::size_t lane, std::int64_t time_ns) {
    return profiling::experts_at(record, operation, operation.lanes[lane], time_ns).size();
  };
  EXPECT_EQ(at(0, 250), 1U) << "between its tiles";
  EXPECT_EQ(at(0, 500), 0U);
  EXPECT_EQ(at(1, 399), 0U);
  EXPECT_EQ(at(1, 400), 1U);
}

TEST(StampedSpans, WithoutAStampedLaunchThereAreNone) {
  const std::vector<ActivityRecord> records = {launch_record(0, 10)};
  const StampedSpans spans = profiling::stamped_spans(result_with({}), records);
  EXPECT_TRUE(spans.empty());
  EXPECT_TRUE(spans.unused.empty());
  EXPECT_EQ(spans.of(records[0]), nullptr);
  EXPECT_EQ(profiling::lanes_by_expert(records, &spans).size(), 1U);
}

TEST(StampedSpans, OtherWorkHasNoPattern) {
  const ActivityRecord stamped = launch_record(0, 10);
  std::vector<ActivityRecord> records(8, stamped);
  records[1].stage = Stage::Dgrad;
  records[2].writes = engine::written(StepTensor::DX);
  records[3].expert = 1;
  records[4].layer = 1;
  records[5].kind = ActivityKind::Memset;
  records[6].kind = ActivityKind::Graph;
  records[7].iteration = -1;  // and another kernel
  records[7].name = 4;
  const StampedSpans spans = profiling::stamped_spans(result_with({launch_of_three()}), records);
  EXPECT_NE(spans.of(records[0]), nullptr);
  for (std::size_t i = 1; i < records.size(); ++i) EXPECT_EQ(spans.of(records[i]), nullptr) << i;
  // A launch of which no record is left has no lanes.
  const std::span<const ActivityRecord> others = std::span(records).subspan(1, 2);
  EXPECT_TRUE(profiling::stamped_spans(result_with({launch_of_three()}), others).empty());
}

TEST(StampedSpans, BothProjectionsAreToldApart) {
  TiledLaunch down = launch_of_three();
  down.writes = engine::written(StepTensor::DWDown);
  down.duration_ns = 2000;
  engine::RunResult result = result_with({launch_of_three(), down});
  result.effective.step = engine::StepKind::ExpertLayer;
  std::vector<ActivityRecord> records(3, launch_record(0, 10));
  records[1].writes = down.writes;
  records[1].layer = 1;  // the down projection of layer 0
  records[2].layer = 2;  // of layer 1
  const StampedSpans spans = profiling::stamped_spans(result, records);
  ASSERT_EQ(spans.operations.size(), 2U);
  EXPECT_EQ(spans.of(records[0])->duration_ns, 1000);
  EXPECT_EQ(spans.of(records[1])->duration_ns, 2000);
  EXPECT_EQ(spans.of(records[2]), nullptr);
}

/// Why there are none is said once for each operation.
TEST(StampedSpans, AreLeftOutWhereTheyWouldBeAGuess) {
  std::vector<ActivityRecord> records(2, launch_record(0, 10));
  const auto reasons = [&](const engine::RunResult& result) {
    const StampedSpans spans = profiling::stamped_spans(result, records);
    EXPECT_TRUE(spans.empty());
    EXPECT_EQ(spans.of(records[0]), nullptr);
    std::vector<std::string> texts;
    for (const profiling::UnusedStamps& one : spans.unused) texts.emplace_back(one.reason);
    return texts;
  };
  const auto two = reasons(result_with({launch_of_three(), launch_of_three()}));
  EXPECT_EQ(two, std::vector<std::string>{"several stamped launches are of one operation"});
  TiledLaunch instant = launch_of_three();
  instant.duration_ns = 0;
  EXPECT_EQ(reasons(result_with({instant})),
            std::vector<std::string>{"the stamped launch has no duration"});
  engine::RunResult replayed = result_with({launch_of_three()});
  replayed.recorded_routing.emplace().steps.resize(2);
  EXPECT_EQ(reasons(replayed),
            std::vector<std::string>{"the recorded steps differ in their rows per expert"});
  records[1].name = 9;
  EXPECT_EQ(reasons(result_with({launch_of_three()})),
            std::vector<std::string>{"several kernels are of one operation"});
}

TEST(StampedSpans, SayHowManySmsTheyAreOf) {
  TiledLaunch launch = launch_of_three();
  launch.kept_every = 3;
  launch.kept = {{.begin_ns = 250, .end_ns = 1000, .multiprocessor = 0, .expert = 1}};
  const std::vector<ActivityRecord> records = {launch_record(0, 100)};
  const StampedSpans spans = profiling::stamped_spans(result_with({launch}), records);
  const StampedOperation& operation = spans.operations.at(0);
  EXPECT_EQ(operation.kept_every, 3);
  EXPECT_EQ(operation.duration_ns, 1000) << "of all tiles";
  EXPECT_EQ(placed(records[0], operation, 1), (std::vector<TileSpan>{{25, 100}}));
}

TEST(StampedSpans, ARecordOfNoLengthHasNone) {
  const std::vector<ActivityRecord> records = {launch_record(70, 70)};
  const StampedSpans spans = profiling::stamped_spans(result_with({launch_of_three()}), records);
  const StampedOperation& operation = spans.operations.at(0);
  EXPECT_TRUE(placed(records[0], operation, 0).empty());
  EXPECT_TRUE(profiling::experts_at(records[0], operation, operation.lanes[0], 70).empty());
  EXPECT_EQ(profiling::placed_ns(records[0], operation, 500), 70);
}

TEST(StampedSpans, NeverLeaveTheLaunch) {
  const ActivityRecord record = launch_record(1'000'000'000'000, 9'000'000'000'000'000);
  const StampedSpans spans =
      profiling::stamped_spans(result_with({launch_of_three()}), std::vector{record});
  const StampedOperation& operation = spans.operations.at(0);
  EXPECT_EQ(profiling::placed_ns(record, operation, -5), record.start_ns);
  EXPECT_EQ(profiling::placed_ns(record, operation, 1000), record.end_ns);
  EXPECT_EQ(profiling::placed_ns(record, operation, INT64_MAX), record.end_ns);
}

TEST(StampedSpans, ManyExpertsShareLanes) {
  constexpr int kExperts = 1024;
  std::vector<LaunchTile> tiles;
  for (int expert = 0; expert < kExperts; ++expert) {
    tiles.push_back({.begin_ns = 10 * expert,
                     .end_ns = 10 * expert + 10,
                     .multiprocessor = expert % 132,
                     .expert = expert,
                     .tile = expert});
  }
  const std::vector<ActivityRecord> records = {launch_record(0, 10 * kExperts)};
  const StampedSpans spans = profiling::stamped_spans(
      result_with({engine::tiled_launch(Stage::Wgrad, kDw, 132, std::move(tiles))}), records);
  EXPECT_EQ(spans.together, 32);
  const StampedOperation& operation = spans.operations.at(0);
  ASSERT_EQ(operation.lanes.size(), 32U);
  EXPECT_EQ(operation.lanes[31].experts.size(), 32U);
  EXPECT_EQ(placed(records[0], operation, 31), (std::vector<TileSpan>{{9920, 10'240}}));
  const auto running = profiling::experts_at(records[0], operation, operation.lanes[31], 10'005);
  ASSERT_EQ(running.size(), 1U);
  EXPECT_EQ(running[0].expert, 1000);
  const auto lanes = profiling::lanes_by_expert(records, &spans);
  ASSERT_EQ(lanes.size(), 33U);
  EXPECT_EQ(lanes[31].first, 992);
  EXPECT_EQ(lanes[31].last, 1023);
}

TEST(StampedSpans, LanesOfStampsAloneHaveNoRecords) {
  std::vector<ActivityRecord> records = {launch_record(0, 1000), launch_record(2000, 3000)};
  records[1].stage = Stage::Fprop;
  records[1].expert = 5;
  const StampedSpans spans = profiling::stamped_spans(result_with({launch_of_three()}), records);
  const auto lanes = profiling::lanes_by_expert(records, &spans);
  // Expert 2 has neither tiles nor records, nor has expert 4.
  ASSERT_EQ(lanes.size(), 5U);
  std::vector<int> first;
  std::vector<std::size_t> held;
  for (const profiling::TimelineLane& lane : lanes) {
    first.push_back(lane.first);
    ASSERT_EQ(lane.rows.size(), 1U);
    held.push_back(lane.rows[0].size());
  }
  EXPECT_EQ(first, (std::vector<int>{0, 1, 3, 5, 0}));
  EXPECT_EQ(held, (std::vector<std::size_t>{0, 0, 0, 1, 1}));
  EXPECT_EQ(lanes[4].kind, profiling::LaneKind::Shared);
  EXPECT_TRUE(lanes[0].rows[0].query(0, 10'000, 100).empty());
}

}  // namespace
