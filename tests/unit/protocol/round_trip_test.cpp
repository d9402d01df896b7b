#include "app/protocol/round_trip.h"

#include <gtest/gtest.h>

namespace app {
namespace {

using std::chrono::milliseconds;

constexpr RoundTrip::Time kStart{};

TEST(RoundTrip, IsWithoutTheTimeThatTheWorkerHeldThePing) {
  RoundTrip trip;
  EXPECT_FALSE(trip.seconds().has_value());
  const auto number = trip.due(kStart);
  ASSERT_TRUE(number);
  trip.echoed({.number = *number, .held_seconds = 0.030}, kStart + milliseconds(80));
  EXPECT_NEAR(trip.seconds().value_or(0), 0.050, 1e-9);
}

TEST(RoundTrip, TheSameEchoInLaterPulsesChangesNothing) {
  RoundTrip trip;
  const auto number = trip.due(kStart);
  trip.echoed({.number = *number, .held_seconds = 0}, kStart + milliseconds(10));
  trip.echoed({.number = *number, .held_seconds = 0.05}, kStart + milliseconds(90));
  EXPECT_NEAR(trip.seconds().value_or(0), 0.010, 1e-9);
}

TEST(RoundTrip, OnePingPerSecondAndAnOldEchoDoesNotCount) {
  RoundTrip trip;
  const auto first = trip.due(kStart);
  EXPECT_FALSE(trip.due(kStart + milliseconds(999)));
  const auto second = trip.due(kStart + milliseconds(1000));
  ASSERT_TRUE(first && second);
  EXPECT_GT(*second, *first);
  trip.echoed({.number = *first, .held_seconds = 0}, kStart + milliseconds(1100));
  EXPECT_FALSE(trip.seconds().has_value());
}

TEST(RoundTrip, AWorkerThatClaimsToHaveHeldItLongerTakesNoNegativeTime) {
  RoundTrip trip;
  const auto number = trip.due(kStart);
  trip.echoed({.number = *number, .held_seconds = 5}, kStart + milliseconds(10));
  EXPECT_EQ(trip.seconds(), 0.0);
}

}  // namespace
}  // namespace app
