// Clock and power during a run, on the run's own time axis.
#pragma once

#include <memory>
#include <string>

#include "profiling/power/power_sampler.h"
#include "profiling/power/power_summary.h"

namespace app {

class RunPower {
 public:
  /// As NVML names the device; empty = not an NVIDIA device, so no readings.
  explicit RunPower(const std::string& pci_bus_id);

  /// begin() and end() bracket a run.
  void begin();
  /// `origin_ns` is the steady clock when the first timed iteration began; 0 = none did.
  profiling::PowerTrace end(std::int64_t origin_ns);

 private:
  std::unique_ptr<profiling::PowerSampler> sampler_;
  std::string missing_;
};

}  // namespace app
