// Readings between orders: a window that watches gets them, otherwise none are taken, and none
// during an order. NVML is replaced by a test library.
#include "app/worker/idle_readings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace app {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr const char* kDevice = "0000:01:00.0";  // the one that the library knows

bool soon(const std::function<bool()>& true_now) {
  for (int i = 0; i < 2500; ++i) {
    if (true_now()) return true;
    std::this_thread::sleep_for(2ms);
  }
  return false;
}

struct Watched {
  engine::RunProgress progress;
  IdleReadings readings{progress, {.period = 2ms, .library = FAKE_NVML}};
};

TEST(IdleReadings, AreSentToAWindowThatWatches) {
  Watched at;
  at.readings.set_device(kDevice, "");
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(at.readings.latest()) << "not watched yet";
  at.readings.watch(true);
  ASSERT_TRUE(soon([&] { return at.readings.latest().has_value(); }));
  const profiling::PowerTrace read = *at.readings.latest();
  ASSERT_EQ(read.samples.size(), 1U);
  EXPECT_EQ(read.samples[0].time_ns, 0);
  EXPECT_EQ(read.samples[0].sm_clock_mhz, 1755);
  EXPECT_DOUBLE_EQ(read.samples[0].power_w, 642.5);
  EXPECT_EQ(read.samples[0].temperature_c, -1);
  EXPECT_EQ(read.method, "instant");
  at.readings.watch(false);
  EXPECT_FALSE(at.readings.latest());
}

TEST(IdleReadings, WaitForTheDeviceToBeKnown) {
  Watched at;
  at.readings.watch(true);
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(at.readings.latest());
  at.readings.set_device(kDevice, "");
  EXPECT_TRUE(soon([&] { return at.readings.latest().has_value(); }));
}

TEST(IdleReadings, AreNotTakenDuringAnOrder) {
  Watched at;
  at.readings.set_device(kDevice, "");
  at.readings.watch(true);
  ASSERT_TRUE(soon([&] { return at.readings.latest().has_value(); }));
  at.progress.request_id = 7;
  EXPECT_FALSE(at.readings.latest());
  std::this_thread::sleep_for(20ms);  // the earlier reading is dropped
  at.progress.request_id = 0;
  EXPECT_TRUE(soon([&] { return at.readings.latest().has_value(); }));
}

TEST(IdleReadings, SayWhyThereAreNone) {
  Watched without;
  without.readings.set_device("", "this worker was built without CUDA");
  without.readings.watch(true);
  ASSERT_TRUE(without.readings.latest());
  EXPECT_EQ(without.readings.latest()->missing, "this worker was built without CUDA");

  Watched unknown;
  unknown.readings.set_device("0000:02:00.0", "");
  unknown.readings.watch(true);
  ASSERT_TRUE(soon([&] { return unknown.readings.latest().has_value(); }));
  EXPECT_THAT(unknown.readings.latest()->missing, HasSubstr("Not Found"));
  EXPECT_TRUE(unknown.readings.latest()->samples.empty());
}

}  // namespace
}  // namespace app
