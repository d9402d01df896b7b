// Clock, power, temperature and clock-limiting reasons, read once, or by a dedicated thread while
// other work runs. Without NVML there are no samples, only the reason; nothing is estimated.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "profiling/power/nvml_library.h"
#include "profiling/power/power_summary.h"

namespace profiling {

// One reading of a device's clock, power and temperature through NVML. No thread: the caller
// decides when to read; a reading takes about a millisecond. Without NVML, or if it does not know
// the device, reason() says so and read() must not be called.

class PowerReader {
 public:
  /// As for OpenNvml::open().
  explicit PowerReader(const std::string& pci_bus_id, const std::string& library = kNvmlLibrary);

  /// Empty = read() works.
  const std::string& reason() const { return reason_; }
  /// The driver's version as reported by NVML; empty without NVML.
  const std::string& driver() const { return nvml_.driver; }
  /// Kind of power reading: "instant" or "mean of one second"; empty without NVML.
  std::string power_method() const;
  PowerSample read() const;

 private:
  double power_w() const;

  OpenNvml nvml_;
  std::string reason_;
  bool instant_power_ = false;
};

class PowerSampler {
 public:
  struct Options {
    std::string pci_bus_id;                // as for OpenNvml::open()
    std::chrono::milliseconds period{20};  // NVML takes about a millisecond per reading
    std::string library = kNvmlLibrary;
  };
  /// Never fails: without a working NVML, reason() says why and no thread is started.
  explicit PowerSampler(const Options& options);
  PowerSampler(const PowerSampler&) = delete;
  PowerSampler& operator=(const PowerSampler&) = delete;
  ~PowerSampler();

  /// Empty = sampling works.
  const std::string& reason() const;
  /// The driver's version as reported by NVML; empty without NVML.
  const std::string& driver() const;
  /// Kind of power reading: "instant" or "mean of one second"; empty without NVML.
  std::string power_method() const;
  /// The samples since the last call.
  std::vector<PowerSample> take();
  /// Does not read while paused, so that unused readings cost nothing. Starts running.
  void rest(bool resting);

 private:
  struct Shared;  // outlives this if the driver never answers
  static void sample_until_stopped(Shared& shared);

  std::shared_ptr<Shared> shared_;
  std::optional<NvmlThread> thread_;
};

}  // namespace profiling
