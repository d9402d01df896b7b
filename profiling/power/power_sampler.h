// Clock, power, temperature and what holds the clock back, read by a thread of its own while
// something else runs. Without NVML there are no samples and a sentence why; nothing is made up.
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
  /// Never fails: where NVML is missing or refuses, reason() says so and no thread is started.
  explicit PowerSampler(const Options& options);
  PowerSampler(const PowerSampler&) = delete;
  PowerSampler& operator=(const PowerSampler&) = delete;
  ~PowerSampler();

  /// Empty = it samples.
  const std::string& reason() const { return reader_.reason(); }
  /// The driver's version as NVML tells it; empty without NVML.
  const std::string& driver() const { return reader_.driver(); }
  /// Where power comes from: "instant" or "mean of one second"; empty without NVML.
  std::string power_method() const { return reader_.power_method(); }
  /// The samples since the last call.
  std::vector<PowerSample> take();
  /// Reads nothing while it rests: nobody pays for readings that nobody looks at. Starts awake.
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
