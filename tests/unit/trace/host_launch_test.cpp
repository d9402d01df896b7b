// The host's side of a record: the call that launched it, or what is known instead.
#include "profiling/trace/host_launch.h"

#include <gtest/gtest.h>

namespace {

using namespace profiling;
using engine::Stage;

HostEvent range(std::int64_t start, std::int64_t end, std::uint32_t name, int iteration,
                Stage stage, std::uint8_t layer = 0) {
  return {.start_ns = start,
          .end_ns = end,
          .name = name,
          .iteration = iteration,
          .layer = layer,
          .kind = HostEventKind::StageRange,
          .stage = stage};
}

Activity two_ranges() {
  Activity activity;
  activity.names = {"kernel", "iteration", "fprop, layer 0", "fprop, layer 1", "cudaLaunchKernel"};
  activity.host_events = {range(0, 90, 1, 0, Stage::Other), range(10, 20, 2, 0, Stage::Fprop),
                          range(30, 40, 3, 0, Stage::Fprop, 1),
                          range(100, 190, 1, 1, Stage::Other)};
  activity.calls = {{.start_ns = 12, .end_ns = 15, .name = 4}};
  return activity;
}

ActivityRecord kernel(int iteration, Stage stage, std::uint8_t layer = 0) {
  return {.start_ns = 1000,
          .end_ns = 2000,
          .iteration = iteration,
          .layer = layer,
          .kind = ActivityKind::Kernel,
          .stage = stage};
}

TEST(HostLaunchTest, TheRecordedCallIsTheLaunch) {
  ActivityRecord record = kernel(0, Stage::Fprop);
  record.call = 1;
  const auto launch = host_launch(two_ranges(), record);
  ASSERT_TRUE(launch);
  EXPECT_TRUE(launch->call);
  EXPECT_EQ(launch->name, "cudaLaunchKernel");
  EXPECT_EQ(launch->start_ns, 12);
}

TEST(HostLaunchTest, WithoutCallsTheRangeOfItsStageAndLayerIsNamedAsSuch) {
  const auto launch = host_launch(two_ranges(), kernel(0, Stage::Fprop, 1));
  ASSERT_TRUE(launch);
  EXPECT_FALSE(launch->call);
  EXPECT_EQ(launch->name, "fprop, layer 1");
}

TEST(HostLaunchTest, OfAReplayOnlyTheIterationIsKnown) {
  const auto launch = host_launch(two_ranges(), kernel(1, Stage::Fprop));
  ASSERT_TRUE(launch);
  EXPECT_FALSE(launch->call);
  EXPECT_EQ(launch->start_ns, 100);
}

TEST(HostLaunchTest, NothingIsGuessed) {
  const Activity activity = two_ranges();
  EXPECT_FALSE(host_launch(activity, kernel(-1, Stage::Fprop))) << "outside the iterations";
  EXPECT_FALSE(host_launch(activity, kernel(2, Stage::Fprop))) << "no range of that iteration";
  ActivityRecord span = kernel(0, Stage::Fprop);
  span.kind = ActivityKind::HostSpan;
  EXPECT_FALSE(host_launch(activity, span)) << "the host did it itself";
  // A range that begins after the record cannot have launched it.
  ActivityRecord early = kernel(1, Stage::Fprop);
  early.start_ns = 99;
  EXPECT_FALSE(host_launch(activity, early));
  ActivityRecord beyond = kernel(-1, Stage::Fprop);
  beyond.call = 2;
  EXPECT_FALSE(host_launch(activity, beyond));
}

}  // namespace
