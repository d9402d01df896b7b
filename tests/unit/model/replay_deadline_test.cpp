// The deadline of a graph replay follows the previous replays.
#include "engine/model/replay_deadline.h"

#include <gtest/gtest.h>

#include <cmath>

namespace engine {
namespace {

TEST(ReplayDeadline, FirstReplaysMayLoadKernels) {
  ReplayDeadline deadline(20);
  EXPECT_EQ(deadline.seconds(), kFirstReplayDeadline);
  EXPECT_EQ(deadline.p99_seconds(), 0.0);
  for (int i = 0; i < kReplaysBeforeDeadline - 1; ++i) deadline.add(0.001);
  EXPECT_EQ(deadline.seconds(), kFirstReplayDeadline);
  deadline.add(0.001);
  EXPECT_LT(deadline.seconds(), kFirstReplayDeadline);
}

TEST(ReplayDeadline, ShortReplaysHaveTheFloor) {
  ReplayDeadline deadline(20);
  for (int i = 0; i < 100; ++i) deadline.add(10e-6);
  EXPECT_EQ(deadline.seconds(), kShortestReplayDeadline);
  EXPECT_EQ(deadline.replays(), 100);
}

TEST(ReplayDeadline, IsAMultipleOfThe99thPercentile) {
  ReplayDeadline deadline(3);
  // 0.01, 0.02, ..., 1.28: their 99th percentile is at index 0.99 * 127 = 125.73.
  for (int i = 1; i <= 128; ++i) deadline.add(0.01 * i);
  EXPECT_NEAR(deadline.p99_seconds(), 0.01 * 126.73, 1e-12);
  EXPECT_NEAR(deadline.seconds(), 3 * 0.01 * 126.73, 1e-12);
}

TEST(ReplayDeadline, OneSlowReplayAmongManyDoesNotRaiseIt) {
  ReplayDeadline deadline(100);
  for (int i = 0; i < 512; ++i) deadline.add(i == 100 ? 5.0 : 0.01);
  EXPECT_NEAR(deadline.seconds(), 1.0, 1e-12);
}

TEST(ReplayDeadline, FollowsReplaysThatBecomeSlower) {
  ReplayDeadline deadline(20);
  for (int i = 0; i < 16; ++i) deadline.add(0.05);
  EXPECT_NEAR(deadline.seconds(), 1.0, 1e-12);
  for (int i = 0; i < 16; ++i) deadline.add(0.1);
  EXPECT_NEAR(deadline.seconds(), 2.0, 1e-9);
}

TEST(ReplayDeadline, FactorZeroIsNoDeadline) {
  ReplayDeadline deadline(0);
  EXPECT_TRUE(std::isinf(deadline.seconds()));
  for (int i = 0; i < 10; ++i) deadline.add(0.1);
  EXPECT_TRUE(std::isinf(deadline.seconds()));
  EXPECT_NEAR(deadline.p99_seconds(), 0.1, 1e-12);
}

}  // namespace
}  // namespace engine
