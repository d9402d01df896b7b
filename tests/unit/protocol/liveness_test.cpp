// What silence means, on a simulated clock.
#include "app/protocol/liveness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace app {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

const Liveness::Time kStart{};

PulseReport pulse_at(std::uint64_t id, double fraction) {
  return {.request_id = id,
          .stage = engine::Stage::Fprop,
          .iteration = 2,
          .iterations = 10,
          .fraction = fraction};
}

TEST(Liveness, StartsThenResponds) {
  Liveness life(kStart, 0);
  EXPECT_EQ(life.state(kStart + milliseconds(3000), false), LinkState::Starting);
  EXPECT_EQ(life.state(kStart + milliseconds(10001), false), LinkState::Stalled);
  life.heard(kStart + milliseconds(11000));
  life.greeted();
  EXPECT_EQ(life.state(kStart + milliseconds(11100), false), LinkState::Responsive);
}

TEST(Liveness, SilenceStallsBetweenHalfASecondAndPointEight) {
  Liveness life(kStart, 0);
  life.heard(kStart);
  life.greeted();
  EXPECT_EQ(life.state(kStart + milliseconds(500), false), LinkState::Responsive);
  EXPECT_EQ(life.state(kStart + milliseconds(751), false), LinkState::Stalled);
  EXPECT_EQ(life.reason(kStart + milliseconds(800), false), "no pulse for 0.8 s");
  life.heard(kStart + milliseconds(5000));
  EXPECT_EQ(life.state(kStart + milliseconds(5001), false), LinkState::Responsive);
  EXPECT_EQ(life.reason(kStart + milliseconds(5001), false), "");
}

TEST(Liveness, BusyWhileARunIsOwedOrReported) {
  Liveness life(kStart, 0);
  life.heard(kStart);
  life.greeted();
  EXPECT_EQ(life.state(kStart, true), LinkState::Busy);
  life.pulse(pulse_at(4, 0.5), kStart);
  EXPECT_EQ(life.state(kStart, false), LinkState::Busy);
  life.pulse({}, kStart);
  EXPECT_EQ(life.state(kStart, false), LinkState::Responsive);
}

TEST(Liveness, PulsesWithoutProgressStallIfRequested) {
  Liveness life(kStart, 2.0);
  Liveness patient(kStart, 0);
  for (Liveness* one : {&life, &patient}) {
    one->greeted();
    one->pulse(pulse_at(4, 0.5), kStart + milliseconds(100));
    one->pulse(pulse_at(4, 0.5), kStart + milliseconds(3000));
    one->heard(kStart + milliseconds(3000));
  }
  const Liveness::Time now = kStart + milliseconds(3100);
  EXPECT_EQ(life.state(now, true), LinkState::Stalled);
  EXPECT_THAT(life.reason(now, true),
              HasSubstr("no progress for 3.0 s in fprop, iteration 3 of 10"));
  EXPECT_EQ(patient.state(now, true), LinkState::Busy);
  life.pulse(pulse_at(4, 0.6), now);
  EXPECT_EQ(life.state(now, true), LinkState::Busy);
}

TEST(Liveness, LostStaysLost) {
  Liveness life(kStart, 0);
  life.lost("exited with code 3");
  life.heard(kStart);
  life.greeted();
  EXPECT_EQ(life.state(kStart, true), LinkState::Lost);
  EXPECT_EQ(life.reason(kStart, true), "exited with code 3");
}

}  // namespace
}  // namespace app
