#include "profiling/power/power_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "profiling/power/power_refreshes.h"

namespace profiling {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(PowerSampler, SaysWhyThereAreNoSamples) {
  PowerSampler sampler({.pci_bus_id = "0000:01:00.0", .library = "libthere-is-no-such-nvml.so"});
  EXPECT_THAT(sampler.reason(), HasSubstr("libthere-is-no-such-nvml.so"));
  EXPECT_THAT(sampler.take(), IsEmpty());
  EXPECT_THAT(sampler.power_method(), IsEmpty());
}

TEST(PowerSampler, SaysWhenItIsTheWrongLibrary) {
  PowerSampler sampler({.pci_bus_id = "0000:01:00.0", .library = "libm.so.6"});
  EXPECT_THAT(sampler.reason(), HasSubstr("has no nvmlInit_v2"));
}

TEST(PowerSampler, SaysWhenTheDeviceIsUnknown) {
  PowerSampler sampler({.pci_bus_id = "0000:02:00.0", .library = FAKE_NVML});
  EXPECT_EQ(sampler.reason(), "Finding the device in NVML failed: Not Found");
}

TEST(PowerSampler, SamplesUntilItEnds) {
  PowerSampler sampler(
      {.pci_bus_id = "0000:01:00.0", .period = milliseconds(2), .library = FAKE_NVML});
  EXPECT_EQ(sampler.reason(), "");
  EXPECT_EQ(sampler.driver(), "123.45");
  EXPECT_EQ(sampler.power_method(), "instant");
  std::vector<PowerSample> samples;
  for (int i = 0; i < 5000 && samples.size() < 3; ++i) {
    std::this_thread::sleep_for(milliseconds(2));
    for (const PowerSample& sample : sampler.take()) samples.push_back(sample);
  }
  ASSERT_GE(samples.size(), 3U);
  EXPECT_EQ(samples[0].sm_clock_mhz, 1755);
  EXPECT_EQ(samples[0].memory_clock_mhz, 3201);
  EXPECT_DOUBLE_EQ(samples[0].power_w, 642.5);
  EXPECT_EQ(samples[0].temperature_c, -1);
  EXPECT_EQ(clock_reason_names(samples[0].clock_reasons), "power cap");
  EXPECT_LT(samples[0].time_ns, samples[1].time_ns);
}

TEST(PowerSampler, DoesNotWaitForADriverThatNeverAnswers) {
  const auto start = std::chrono::steady_clock::now();
  {
    PowerSampler sampler(
        {.pci_bus_id = "0000:01:00.0", .period = milliseconds(2), .library = FAKE_NVML});
    while (sampler.take().empty()) std::this_thread::sleep_for(milliseconds(1));
    ASSERT_EQ(::setenv("FAKE_NVML_STUCK", "1", 1), 0);
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  ASSERT_EQ(::unsetenv("FAKE_NVML_STUCK"), 0);
}

TEST(PowerSummary, CountsOnlySamplesInsideTheSpans) {
  const std::vector<PowerSample> samples = {
      {.time_ns = 10, .sm_clock_mhz = 1000, .power_w = 100, .temperature_c = 30},
      {.time_ns = 20, .sm_clock_mhz = 1980, .power_w = 500, .temperature_c = 40},
      {.time_ns = 30,
       .sm_clock_mhz = 1700,
       .power_w = 700,
       .temperature_c = 45,
       .clock_reasons = 4},
      {.time_ns = 40, .sm_clock_mhz = 900, .power_w = 90, .clock_reasons = 1}};
  const std::vector<TimeSpan> spans = {{15, 20}, {28, 31}};
  const PowerSummary summary = summarize_power(samples, spans);
  EXPECT_EQ(summary.samples, 2);
  EXPECT_DOUBLE_EQ(summary.sm_clock_mhz, 1840);
  EXPECT_EQ(summary.sm_clock_min_mhz, 1700);
  EXPECT_DOUBLE_EQ(summary.power_w, 600);
  EXPECT_DOUBLE_EQ(summary.power_max_w, 700);
  EXPECT_EQ(summary.temperature_max_c, 45);
  EXPECT_EQ(summary.clock_reasons, 4U);
  EXPECT_EQ(summarize_power(samples, {}).sm_clock_mhz, -1);
}

/// Read every 20 ms from a sensor that takes a new value with every fifth reading.
std::vector<PowerSample> readings_of_a_slow_sensor(int readings) {
  std::vector<PowerSample> samples;
  for (int i = 0; i < readings; ++i) {
    samples.push_back({.time_ns = i * std::int64_t{20'100'000}, .power_w = 300.0 + i / 5});
  }
  return samples;
}

TEST(PowerRefreshes, AreCountedWhereReadingsRepeatTheirValue) {
  const std::vector<PowerSample> slow = readings_of_a_slow_sensor(59);
  const PowerRefreshes refreshes = power_refreshes(slow);
  EXPECT_EQ(refreshes.count, 12U);
  EXPECT_EQ(refreshes.interval_ns, 100'500'000);
  EXPECT_TRUE(refreshes.repeats);
  EXPECT_EQ(refresh_interval_text(refreshes), "about every 100 ms");
}

TEST(PowerRefreshes, AreUnknownWhereEveryReadingIsNewOrThereAreTooFew) {
  std::vector<PowerSample> samples = readings_of_a_slow_sensor(59);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].power_w = static_cast<double>(i);
  EXPECT_FALSE(power_refreshes(samples).repeats);
  EXPECT_EQ(refresh_interval_text(power_refreshes(samples)), "");
  EXPECT_FALSE(power_refreshes(readings_of_a_slow_sensor(20)).repeats) << "two whole intervals";
  EXPECT_EQ(power_refreshes({}).count, 0U);
}

TEST(PowerRefreshes, ReadingsWithoutPowerAndEqualValuesDoNotCount) {
  std::vector<PowerSample> samples = readings_of_a_slow_sensor(60);
  samples[7].power_w = -1;
  for (std::size_t i = 20; i < 25; ++i) samples[i].power_w = samples[19].power_w;
  const PowerRefreshes refreshes = power_refreshes(samples);
  EXPECT_EQ(refreshes.count, 11U) << "one refresh found the same value";
  EXPECT_EQ(refresh_interval_text(refreshes), "about every 100 ms");
}

TEST(ClockReasons, AreNamed) {
  EXPECT_EQ(clock_reason_names(0), "");
  EXPECT_EQ(clock_reason_names(0x24), "power cap, thermal slowdown");
}

}  // namespace
}  // namespace profiling
