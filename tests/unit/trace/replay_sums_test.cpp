#include "profiling/trace/replay_sums.h"

#include <gtest/gtest.h>

namespace profiling {
namespace {

ActivityRecord replayed(int iteration, std::int64_t start, std::int64_t end,
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
  activity.records = {replayed(-1, 0, 900),
                      replayed(3, 1000, 1100),
                      replayed(3, 1150, 1350, ActivityKind::Memset),
                      replayed(3, 1000, 5000, ActivityKind::HostSpan),
                      replayed(7, 2000, 2300),
                      replayed(7, 2100, 2200)};
  const std::vector<ReplaySum> sums = sum_replays(activity);
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].iteration, 3);
  EXPECT_EQ(sums[0].device_ns, 300);
  EXPECT_EQ(sums[0].first_ns, 1000);
  EXPECT_EQ(sums[0].span_ns, 350);
  EXPECT_EQ(sums[0].gaps_ns, 50);
  EXPECT_EQ(sums[0].records, 2U);
  EXPECT_EQ(sums[1].iteration, 7);
  EXPECT_EQ(sums[1].device_ns, 400);
  EXPECT_EQ(sums[1].span_ns, 300);
  EXPECT_EQ(sums[1].gaps_ns, 0);
}

TEST(SumReplays, AGapIsTimeThatNoStreamCovers) {
  Activity activity;
  // A long kernel on one stream hides the gaps of another.
  activity.records = {replayed(0, 100, 500), replayed(0, 110, 120), replayed(0, 300, 310),
                      replayed(0, 530, 600), replayed(0, 540, 560), replayed(0, 620, 630)};
  const std::vector<ReplaySum> sums = sum_replays(activity);
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums[0].gaps_ns, 30 + 20);
  EXPECT_EQ(sums[0].longest_gap_ns, 30);
  EXPECT_EQ(sums[0].span_ns, 530);
}

TEST(SummarizeGaps, CountsWholeReplaysOfTheRangeWithMoreThanOneRecord) {
  Activity activity;
  activity.records = {replayed(0, 0, 40),    replayed(0, 50, 100),  replayed(1, 200, 240),
                      replayed(1, 270, 300), replayed(2, 400, 500), replayed(3, 600, 640),
                      replayed(3, 690, 700), replayed(4, 800, 850), replayed(4, 860, 900)};
  const std::vector<ReplaySum> sums = sum_replays(activity);
  const std::optional<GapSummary> all = summarize_gaps(sums, {0, 10000});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->gaps.n, 4U);  // replay 2 is one record
  EXPECT_DOUBLE_EQ(all->gaps.median, 20);
  EXPECT_DOUBLE_EQ(all->median_share, 0.2);
  EXPECT_EQ(all->longest_ns, 50);
  const std::optional<GapSummary> part = summarize_gaps(sums, {200, 650});  // cuts replay 3
  ASSERT_TRUE(part);
  EXPECT_EQ(part->gaps.n, 1U);
  EXPECT_DOUBLE_EQ(part->gaps.median, 30);
  EXPECT_FALSE(summarize_gaps(sums, {400, 650}));
  EXPECT_FALSE(summarize_gaps({}, {0, 10000}));
}

TEST(SumReplays, WithoutRecordsIsEmpty) { EXPECT_TRUE(sum_replays({}).empty()); }

}  // namespace
}  // namespace profiling
