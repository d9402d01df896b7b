#include "app/protocol/round_trip.h"

#include <gtest/gtest.h>

namespace app {
namespace {

using std::chrono::milliseconds;

constexpr RoundTrip::Time kFirstPing{};

TEST(RoundTrip, IsWithoutTheTimeThatTheWorkerHeldThePing) {
  RoundTrip trip;
  EXPECT_FALSE(trip.seconds().has_value());
  const auto number = trip.due(kFirstPing);
  ASSERT_TRUE(number);
  trip.echoed({.number = *number, .held_seconds = 0.030}, kFirstPing + milliseconds(80));
  EXPECT_NEAR(trip.seconds().value_or(0), 0.050, 1e-9);
}

TEST(RoundTrip, TheSameEchoInLaterPulsesChangesNothing) {
  RoundTrip trip;
  const auto number = trip.due(kFirstPing);
  trip.echoed({.number = *number, .held_seconds = 0}, kFirstPing + milliseconds(10));
  trip.echoed({.number = *number, .held_seconds = 0.05}, kFirstPing + milliseconds(90));
  EXPECT_NEAR(trip.seconds().value_or(0), 0.010, 1e-9);
}

TEST(RoundTrip, OnePingPerSecondAndAnOldEchoDoesNotCount) {
  RoundTrip trip;
  const auto first = trip.due(kFirstPing);
  EXPECT_FALSE(trip.due(kFirstPing + milliseconds(999)));
  const auto second = trip.due(kFirstPing + milliseconds(1000));
  ASSERT_TRUE(first && second);
  EXPECT_GT(*second, *first);
  trip.echoed({.number = *first, .held_seconds = 0}, kFirstPing + milliseconds(1100));
  EXPECT_FALSE(trip.seconds().has_value());
}

TEST(RoundTrip, AWorkerThatClaimsToHaveHeldItLongerTakesNoNegativeTime) {
  RoundTrip trip;
  const auto number = trip.due(kFirstPing);
  trip.echoed({.number = *number, .held_seconds = 5}, kFirstPing + milliseconds(10));
  EXPECT_EQ(trip.seconds(), 0.0);
}

}  // namespace
}  // namespace app
