// One reading of a device's clock, power and temperature through NVML. No thread: the caller
// decides when to read; a reading takes about a millisecond. Without NVML, or if it does not know
// the device, reason() says so and read() must not be called.
#pragma once

#include <string>

#include "profiling/power/nvml_library.h"
#include "profiling/power/power_summary.h"

namespace profiling {

class PowerReader {
 public:
  /// `pci_bus_id`: "0000:3b:00.0", as CUDA names the device.
  explicit PowerReader(const std::string& pci_bus_id, const std::string& library = kNvmlLibrary);
  PowerReader(const PowerReader&) = delete;
  PowerReader& operator=(const PowerReader&) = delete;
  ~PowerReader();

  /// Empty = read() works.
  const std::string& reason() const { return reason_; }
  /// The driver's version as reported by NVML; empty without NVML.
  const std::string& driver() const { return driver_; }
  /// Kind of power reading: "instant" or "mean of one second"; empty without NVML.
  std::string power_method() const;
  PowerSample read() const;

 private:
  engine::Status open(const std::string& pci_bus_id, const std::string& library);
  double power_w() const;

  NvmlLibrary nvml_;
  NvmlDevice device_ = nullptr;
  std::string reason_;
  std::string driver_;
  bool initialised_ = false;
  bool instant_power_ = false;
};

}  // namespace profiling
