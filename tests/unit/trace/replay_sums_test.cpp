#include "profiling/trace/replay_sums.h"

#include <gtest/gtest.h>

namespace profiling {
namespace {

ActivityRecord record(int iteration, std::int64_t start, std::int64_t end,
                      ActivityKind kind = ActivityKind::Kernel) {
  ActivityRecord made;
  made.iteration = iteration;
  made.start_ns = start;
  made.end_ns = end;
  made.kind = kind;
  return made;
}

TEST(SumReplays, GapsAndOverlapsShow) {
  Activity activity;
  activity.records = {record(-1, 0, 900),
                      record(3, 1000, 1100),
                      record(3, 1150, 1350, ActivityKind::Memset),
                      record(3, 1000, 5000, ActivityKind::HostSpan),
                      record(7, 2000, 2300),
                      record(7, 2100, 2200)};
  const std::vector<ReplaySum> sums = sum_replays(activity);
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].iteration, 3);
  EXPECT_EQ(sums[0].device_ns, 300);
  EXPECT_EQ(sums[0].span_ns, 350);
  EXPECT_EQ(sums[1].iteration, 7);
  EXPECT_EQ(sums[1].device_ns, 400);
  EXPECT_EQ(sums[1].span_ns, 300);
}

TEST(SumReplays, NothingRecordedIsNothing) { EXPECT_TRUE(sum_replays({}).empty()); }

}  // namespace
}  // namespace profiling
