// Time of a stage in a layer, from records whose sums are known.
#include "profiling/trace/layer_times.h"

#include <gtest/gtest.h>

namespace {

using engine::Stage;
using profiling::ActivityRecord;

ActivityRecord record(int iteration, int layer, Stage stage, std::int64_t start, std::int64_t end) {
  ActivityRecord one{.start_ns = start, .end_ns = end, .iteration = iteration};
  one.layer = static_cast<std::uint8_t>(layer);
  one.stage = stage;
  return one;
}

TEST(LayerTimes, OneSamplePerTracedIterationOfEachStageAndLayer) {
  profiling::Activity activity{.names = {"work"}, .records = {}, .nodes = {}};
  activity.records = {record(-1, 0, Stage::Fprop, 0, 1000),  // set-up
                      record(0, 0, Stage::Fprop, 1000, 1010),
                      record(0, 0, Stage::Fprop, 1005, 1030),  // overlaps the one before
                      record(0, 1, Stage::Fprop, 1040, 1050),
                      record(0, 1, Stage::Activation, 1050, 1057),
                      record(0, 2, Stage::Fprop, 1060, 1090),  // of the next layer
                      record(2, 0, Stage::Fprop, 1100, 1150)};
  activity.records.push_back(record(2, 0, Stage::Fprop, 1160, 1999));
  activity.records.back().kind = profiling::ActivityKind::Graph;
  const std::vector<profiling::LayerTime> times = profiling::layer_times(activity, 2);
  ASSERT_EQ(times.size(), 3U);
  EXPECT_EQ(times[0].layer, 0);
  EXPECT_EQ(times[0].stage, Stage::Fprop);
  EXPECT_EQ(times[0].time.n, 2U);
  EXPECT_DOUBLE_EQ(times[0].time.minimum, 30.0);
  EXPECT_DOUBLE_EQ(times[0].time.maximum, 50.0);
  EXPECT_EQ(times[1].layer, 1);
  EXPECT_EQ(times[1].stage, Stage::Fprop);
  EXPECT_DOUBLE_EQ(times[1].time.median, 10.0);
  EXPECT_EQ(times[2].stage, Stage::Activation);
  EXPECT_DOUBLE_EQ(times[2].time.median, 7.0);
  EXPECT_TRUE(profiling::layer_times({}, 2).empty());
}

}  // namespace
