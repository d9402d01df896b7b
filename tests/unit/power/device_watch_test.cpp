#include "profiling/power/device_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace profiling {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

/// The first answer that contains `contains`.
std::string answer(const DeviceWatch& watch, const std::string& contains) {
  std::string text;
  for (int i = 0; i < 5000 && text.find(contains) == std::string::npos; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
    text = watch.latest();
  }
  return text;
}

TEST(DeviceWatch, SaysWhyNvmlIsUnavailable) {
  const DeviceWatch none({.pci_bus_id = "0000:01:00.0", .library = "libno-such-nvml.so"});
  EXPECT_THAT(answer(none, "is unavailable"), HasSubstr("libno-such-nvml.so"));
  const DeviceWatch unknown({.pci_bus_id = "0000:02:00.0", .library = FAKE_NVML});
  EXPECT_EQ(answer(unknown, "is unavailable"),
            "NVML is unavailable: Finding the device in NVML failed: Not Found");
}

TEST(DeviceWatch, DescribesAStuckDevice) {
  const DeviceWatch watch(
      {.pci_bus_id = "0000:01:00.0", .period = milliseconds(2), .library = FAKE_NVML});
  EXPECT_THAT(answer(watch, "s ago"),
              AllOf(HasSubstr("busy 100 % of the time"), HasSubstr("SM clock 1755 MHz"),
                    HasSubstr("111 W of 700 W (always busy at low power"),
                    HasSubstr("2 processes on the device"), HasSubstr("Xid 31")));
}

TEST(DeviceWatch, TheFirstAnswerIsWaitedFor) {
  const DeviceWatch watch({.pci_bus_id = "0000:01:00.0", .library = FAKE_NVML});
  EXPECT_THAT(watch.wait_for_answer(std::chrono::seconds(10)), HasSubstr("SM clock 1755 MHz"));
  const DeviceWatch none({.pci_bus_id = "0000:01:00.0", .library = "libno-such-nvml.so"});
  EXPECT_THAT(none.wait_for_answer(std::chrono::seconds(10)), HasSubstr("libno-such-nvml.so"));
}

TEST(DeviceWatch, NeitherAnswersNorShutdownWaitForAStuckDriver) {
  ASSERT_EQ(::setenv("FAKE_NVML_STUCK", "1", 1), 0);
  const auto start = std::chrono::steady_clock::now();
  {
    const DeviceWatch watch({.pci_bus_id = "0000:01:00.0", .library = FAKE_NVML});
    EXPECT_EQ(watch.latest(), "NVML has not answered yet");
    EXPECT_EQ(watch.wait_for_answer(milliseconds(20)), "NVML has not answered yet");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  ASSERT_EQ(::unsetenv("FAKE_NVML_STUCK"), 0);
}

}  // namespace
}  // namespace profiling
