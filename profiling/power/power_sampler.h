// Clock, power, temperature and clock-limiting reasons, read by a dedicated thread while other work
// runs. Without NVML there are no samples but a reason; nothing is estimated.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "engine/model/guarded_thread.h"
#include "profiling/power/power_reader.h"

namespace profiling {

class PowerSampler {
 public:
  struct Options {
    std::string pci_bus_id;  // "0000:3b:00.0", as CUDA names the device
    std::chrono::milliseconds period{20};
    std::string library = kNvmlLibrary;
  };
  /// Never fails: if NVML is missing or refuses, reason() says so and no thread is started.
  explicit PowerSampler(const Options& options);
  PowerSampler(const PowerSampler&) = delete;
  PowerSampler& operator=(const PowerSampler&) = delete;
  ~PowerSampler();

  /// Empty = sampling works.
  const std::string& reason() const { return reader_.reason(); }
  /// The driver's version as reported by NVML; empty without NVML.
  const std::string& driver() const { return reader_.driver(); }
  /// Kind of power reading: "instant" or "mean of one second"; empty without NVML.
  std::string power_method() const { return reader_.power_method(); }
  /// The samples since the last call.
  std::vector<PowerSample> take();
  /// Does not read while paused, so that unused readings cost nothing. Starts running.
  void rest(bool resting);

 private:
  void sample_until_stopped();

  PowerReader reader_;
  std::chrono::milliseconds period_;

  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  bool resting_ = false;
  std::vector<PowerSample> samples_;
  engine::GuardedThread thread_;
};

}  // namespace profiling
