// Which lane and row a record of the timeline goes to.
#include "profiling/trace/timeline_lanes.h"

#include <gtest/gtest.h>

namespace {

using profiling::ActivityKind;
using profiling::ActivityRecord;
using profiling::LaneKind;
using profiling::TimelineLane;
using profiling::TimelineLod;

std::size_t count_of(const TimelineLane& lane) {
  std::size_t count = 0;
  for (const TimelineLod& row : lane.rows) count += row.size();
  return count;
}

TEST(TimelineLanes, BackToBackWithinTheClocksSlackSharesARow) {
  // 1.3 us of overlap before 77 us of work is the clock's; half of a record is concurrency.
  std::vector<ActivityRecord> records = {
      {.start_ns = 0, .end_ns = 4'000'000, .kind = ActivityKind::Kernel},
      {.start_ns = 3'998'700, .end_ns = 4'076'000, .kind = ActivityKind::Kernel},
      {.start_ns = 4'075'000, .end_ns = 4'077'000, .kind = ActivityKind::Memset}};
  const auto timeline = profiling::lanes_by_stream(records);
  ASSERT_EQ(timeline.size(), 1U);
  ASSERT_EQ(timeline[0].rows.size(), 2U);
  EXPECT_EQ(timeline[0].rows[0].size(), 2U);
  EXPECT_EQ(timeline[0].rows[1].size(), 1U);
}

TEST(TimelineLanes, LanesAreSeparateAndOverlapGetsItsOwnRows) {
  std::vector<ActivityRecord> records = {
      {.start_ns = 0, .end_ns = 10, .kind = ActivityKind::Kernel, .lane = 7},
      {.start_ns = 2, .end_ns = 4, .kind = ActivityKind::HostSpan, .lane = 7},
      {.start_ns = 5, .end_ns = 15, .kind = ActivityKind::Memcpy, .lane = 7},
      {.start_ns = 10, .end_ns = 12, .kind = ActivityKind::Kernel, .lane = 7},
      {.start_ns = 11, .end_ns = 12, .kind = ActivityKind::Kernel, .lane = 3}};
  const auto timeline = profiling::lanes_by_stream(records);
  ASSERT_EQ(timeline.size(), 3U);
  EXPECT_EQ(timeline[0].kind, LaneKind::Thread);
  EXPECT_EQ(timeline[0].first, 7);
  EXPECT_EQ(timeline[1].kind, LaneKind::Stream);
  EXPECT_EQ(timeline[1].first, 3);
  EXPECT_EQ(timeline[2].first, 7);
  ASSERT_EQ(timeline[2].rows.size(), 2U);
  EXPECT_EQ(timeline[2].rows[0].size(), 2U);  // 0..10, then 10..12
  EXPECT_EQ(timeline[2].rows[1].size(), 1U);
}

TEST(TimelineLanes, EventsAreBelowTheWorkAndNestedStagesGetTheirOwnRows) {
  using profiling::HostEventKind;
  profiling::Activity activity;
  activity.host_events = {
      {.start_ns = 0, .end_ns = 100, .iteration = 0, .kind = HostEventKind::StageRange},
      {.start_ns = 10, .end_ns = 40, .kind = HostEventKind::StageRange},
      {.start_ns = 20, .end_ns = 30, .kind = HostEventKind::LazyLoading},
      {.start_ns = 50, .end_ns = 90, .kind = HostEventKind::StageRange}};
  activity.memory_events = {{.time_ns = 5, .bytes = 64}, {.time_ns = 5, .bytes = 32}};
  const profiling::EventSpans events = profiling::event_records(activity);
  const auto timeline = profiling::lanes_of_events(activity, events);
  ASSERT_EQ(timeline.size(), 3U);
  EXPECT_EQ(timeline[0].kind, LaneKind::Stages);
  ASSERT_EQ(timeline[0].rows.size(), 2U);
  EXPECT_EQ(timeline[0].rows[0].size(), 1U);  // the iteration
  EXPECT_EQ(timeline[0].rows[1].size(), 2U);  // its stages
  EXPECT_EQ(timeline[1].kind, LaneKind::Overhead);
  EXPECT_EQ(timeline[1].rows[0].members()[0], 2U);
  EXPECT_EQ(timeline[2].kind, LaneKind::Memory);
  EXPECT_EQ(count_of(timeline[2]), 2U);
  EXPECT_EQ(timeline[2].rows[0].query(0, 100, 50).size(), 1U);  // a fold of both moments
  EXPECT_TRUE(profiling::lanes_of_events({}, {}).empty());
}

TEST(TimelineLanes, RowsAreLimitedAndNoRecordIsLost) {
  std::vector<ActivityRecord> records(100);
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i] = {.start_ns = static_cast<std::int64_t>(i), .end_ns = 1000, .lane = 1};
  }
  const auto timeline = profiling::lanes_by_stream(records);
  ASSERT_EQ(timeline.size(), 1U);
  EXPECT_EQ(timeline[0].rows.size(), profiling::kMaxRowsPerLane);
  std::size_t total = 0;
  for (const TimelineLod& row : timeline[0].rows) total += row.size();
  EXPECT_EQ(total, records.size());
}

TEST(TimelineLanes, ReplaysAreAboveTheirNodes) {
  const std::vector<ActivityRecord> records = {
      {.start_ns = -9, .end_ns = -1, .kind = ActivityKind::Memcpy},
      {.start_ns = 0, .end_ns = 10, .node_id = 1, .iteration = 0},
      {.start_ns = 12, .end_ns = 30, .node_id = 2, .iteration = 0},
      {.start_ns = 14, .end_ns = 20, .node_id = 3, .iteration = 0},
      {.start_ns = 40, .end_ns = 50, .node_id = 1, .iteration = 1}};
  const std::vector<ActivityRecord> spans = profiling::iteration_spans(records);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].start_ns, 0);
  EXPECT_EQ(spans[0].end_ns, 30);  // the last to end, not the last to start
  EXPECT_EQ(spans[1].iteration, 1);
  const auto timeline = profiling::lanes_by_replay(records, spans);
  ASSERT_EQ(timeline.size(), 3U);
  EXPECT_EQ(timeline[0].kind, LaneKind::Replays);
  EXPECT_EQ(count_of(timeline[0]), 2U);
  EXPECT_EQ(timeline[0].rows[0].records().data(), spans.data());
  EXPECT_EQ(timeline[1].kind, LaneKind::Nodes);
  EXPECT_EQ(count_of(timeline[1]), 4U);
  EXPECT_EQ(timeline[2].kind, LaneKind::Outside);
  EXPECT_EQ(count_of(timeline[2]), 1U);
}

TEST(TimelineLanes, OneLanePerExpertUntilThereAreMany) {
  std::vector<ActivityRecord> records;
  for (std::int16_t expert = -1; expert < 4; ++expert) {
    records.push_back({.start_ns = expert, .end_ns = expert + 1, .expert = expert});
  }
  const auto few = profiling::lanes_by_expert(records);
  ASSERT_EQ(few.size(), 5U);
  EXPECT_EQ(few[3].kind, LaneKind::Experts);
  EXPECT_EQ(few[3].first, 3);
  EXPECT_EQ(few[3].last, 3);
  EXPECT_EQ(few[4].kind, LaneKind::Shared);
  for (std::int16_t expert = 4; expert < 100; ++expert) {
    records.push_back({.start_ns = expert, .end_ns = expert + 1, .expert = expert});
  }
  const auto many = profiling::lanes_by_expert(records);
  ASSERT_EQ(many.size(), 26U);  // four experts a lane
  EXPECT_EQ(many[0].first, 0);
  EXPECT_EQ(many[0].last, 3);
  EXPECT_EQ(many[24].last, 99);
  std::size_t total = 0;
  for (const TimelineLane& lane : many) total += count_of(lane);
  EXPECT_EQ(total, records.size());
}

TEST(TimelineLanes, WithoutRecordsThereAreNoLanes) {
  EXPECT_TRUE(profiling::lanes_by_stream({}).empty());
  EXPECT_TRUE(profiling::lanes_by_replay({}, {}).empty());
  EXPECT_TRUE(profiling::lanes_by_expert({}).empty());
}

}  // namespace
