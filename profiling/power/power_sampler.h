// Clock, power, temperature and what holds the clock back, read by a thread of its own while
// something else runs. Without NVML there are no samples and a sentence why; nothing is made up.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "profiling/power/nvml_library.h"

namespace profiling {

/// What the device said at one moment; -1 = it did not say.
struct PowerSample {
  std::int64_t time_ns = 0;  // std::chrono::steady_clock
  int sm_clock_mhz = -1;
  int memory_clock_mhz = -1;
  double power_w = -1;
  int temperature_c = -1;
  std::uint64_t clock_reasons = 0;  // NVML's bits, see clock_reason_names()
};

/// "sw_power_cap, hw_slowdown"; idle and the person's own clock settings are named too. Empty for
/// 0.
std::string clock_reason_names(std::uint64_t reasons);

/// The samples of some intervals, summed up; -1 = no sample says.
struct PowerSummary {
  int samples = 0;
  double sm_clock_mhz = -1;  // median
  int sm_clock_min_mhz = -1;
  double power_w = -1;  // mean
  double power_max_w = -1;
  int temperature_max_c = -1;
  std::uint64_t clock_reasons = 0;  // seen in any
};

struct TimeSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// Of the samples inside any of the spans.
PowerSummary summarize_power(std::span<const PowerSample> samples, std::span<const TimeSpan> spans);

class PowerSampler {
 public:
  struct Options {
    std::string pci_bus_id;  // "0000:3b:00.0", as CUDA names the device
    std::chrono::milliseconds period{20};
    std::string library = kNvmlLibrary;
  };
  /// Never fails: where NVML is missing or refuses, reason() says so and no thread is started.
  explicit PowerSampler(const Options& options);
  PowerSampler(const PowerSampler&) = delete;
  PowerSampler& operator=(const PowerSampler&) = delete;
  ~PowerSampler();

  /// Empty = it samples.
  const std::string& reason() const { return reason_; }
  /// The driver's version as NVML tells it; empty without NVML.
  const std::string& driver() const { return driver_; }
  /// Where power comes from: "instant" or "mean of one second"; empty without NVML.
  std::string power_method() const;
  /// The samples since the last call.
  std::vector<PowerSample> take();

 private:
  engine::Status open(const Options& options);
  PowerSample read() const;
  double power_w() const;
  void sample_until_stopped();

  NvmlLibrary nvml_;
  NvmlDevice device_ = nullptr;
  std::chrono::milliseconds period_;
  std::string reason_;
  std::string driver_;
  bool initialised_ = false;
  bool instant_power_ = false;

  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::vector<PowerSample> samples_;
  std::thread thread_;
};

}  // namespace profiling
