// Searching the timeline and stepping through it.
#include "profiling/trace/record_search.h"

#include <gtest/gtest.h>

namespace {

using engine::Stage;
using profiling::Activity;
using profiling::ActivityRecord;
using Hits = std::vector<std::uint32_t>;

/// Two replays of a diamond: 1, then 2 and 3, then 4, which waits for both.
Activity diamond() {
  Activity activity;
  activity.names = {"void Quantize_kernel<4>", "gemm", "copy"};
  activity.nodes = {{.id = 1, .name = "q", .dependencies = {}},
                    {.id = 2, .name = "a", .dependencies = {1}},
                    {.id = 3, .name = "b", .dependencies = {1}},
                    {.id = 4, .name = "end", .dependencies = {2, 3}}};
  for (std::int32_t replay = 0; replay < 2; ++replay) {
    const std::int64_t at = 100 * replay;
    const auto add = [&](std::int64_t start, std::int64_t end, std::uint64_t node,
                         std::uint32_t name, std::int16_t expert, std::uint16_t lane, Stage stage) {
      activity.records.push_back({.start_ns = at + start,
                                  .end_ns = at + end,
                                  .node_id = node,
                                  .name = name,
                                  .iteration = replay,
                                  .expert = expert,
                                  .kind = profiling::ActivityKind::Kernel,
                                  .lane = lane,
                                  .stage = stage});
    };
    add(0, 10, 1, 0, -1, 1, Stage::Quantize);
    add(10, 40, 2, 1, 0, 1, Stage::Fprop);
    add(12, 30, 3, 1, 5, 2, Stage::Fprop);
    add(41, 50, 4, 2, -1, 1, Stage::Memory);
  }
  return activity;
}

TEST(RecordSearch, ByNameStageAndExpert) {
  const Activity activity = diamond();
  EXPECT_EQ(profiling::find_records(activity, engine::StepKind::ExpertLayer, "quant"),
            (Hits{0, 4}));
  EXPECT_EQ(profiling::find_records(activity, engine::StepKind::ExpertLayer, "GEMM"),
            (Hits{1, 2, 5, 6}));
  EXPECT_EQ(profiling::find_records(activity, engine::StepKind::ExpertLayer, "memory"),
            (Hits{3, 7}));
  EXPECT_EQ(profiling::find_records(activity, engine::StepKind::ExpertLayer, "e5"), (Hits{2, 6}));
  EXPECT_EQ(profiling::find_records(activity, engine::StepKind::ExpertLayer, "Expert 0"),
            (Hits{1, 5}));
  EXPECT_TRUE(
      profiling::find_records(activity, engine::StepKind::ExpertLayer, "nothing of the kind")
          .empty());
  EXPECT_TRUE(profiling::find_records(activity, engine::StepKind::ExpertLayer, "").empty());
  Activity named = activity;
  named.records[3].writes = engine::written(engine::StepTensor::WUp);
  named.records[3].stage = Stage::Quantize;
  EXPECT_EQ(profiling::find_records(named, engine::StepKind::ExpertLayer, "wup"), (Hits{3}));
  EXPECT_TRUE(profiling::find_records({}, engine::StepKind::ExpertLayer, "x").empty());
}

TEST(RecordSearch, StepsThroughHitsAndWrapsAround) {
  const Hits hits = {2, 6, 9};
  EXPECT_EQ(profiling::next_hit(hits, -1, 1), 0U);
  EXPECT_EQ(profiling::next_hit(hits, 2, 1), 1U);
  EXPECT_EQ(profiling::next_hit(hits, 3, 1), 1U);
  EXPECT_EQ(profiling::next_hit(hits, 9, 1), 0U);
  EXPECT_EQ(profiling::next_hit(hits, 6, -1), 0U);
  EXPECT_EQ(profiling::next_hit(hits, 7, -1), 1U);
  EXPECT_EQ(profiling::next_hit(hits, 2, -1), 2U);
  EXPECT_FALSE(profiling::next_hit({}, 2, 1).has_value());
}

TEST(RecordSearch, NeighboursStayInTheirRow) {
  const Activity activity = diamond();
  const auto lanes = profiling::lanes_by_stream(activity.records);
  EXPECT_EQ(profiling::neighbour(lanes, activity, 1, 1), 3U);  // over the other stream's record
  EXPECT_EQ(profiling::neighbour(lanes, activity, 3, -1), 1U);
  EXPECT_EQ(profiling::neighbour(lanes, activity, 2, 1), 6U);
  EXPECT_FALSE(profiling::neighbour(lanes, activity, 0, -1).has_value());
  EXPECT_FALSE(profiling::neighbour(lanes, activity, 7, 1).has_value());
}

TEST(RecordSearch, EdgesStayInTheirReplay) {
  const Activity activity = diamond();
  EXPECT_EQ(profiling::along_edge(activity, 7, -1),
            5U);  // of its two predecessors the later to end
  EXPECT_EQ(profiling::along_edge(activity, 5, -1), 4U);
  EXPECT_FALSE(profiling::along_edge(activity, 4, -1).has_value());
  EXPECT_EQ(profiling::along_edge(activity, 0, 1), 1U);  // of its two followers the first
  EXPECT_EQ(profiling::along_edge(activity, 2, 1), 3U);
  EXPECT_FALSE(profiling::along_edge(activity, 3, 1).has_value());
  Activity eager = activity;
  for (ActivityRecord& record : eager.records) record.node_id = 0;
  EXPECT_FALSE(profiling::along_edge(eager, 1, 1).has_value());
}

}  // namespace
