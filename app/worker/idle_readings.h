// Clock, power and temperature of the device while nothing runs, for a window that displays them.
// Nothing is read unless the window watches, and never while an order is in progress, so no timed
// iteration ever shares the driver with this thread. NVML is queried only here: a query to a stuck
// driver may never return, and neither commands nor pulses wait for it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "engine/observe/step_observer.h"
#include "profiling/power/nvml_library.h"
#include "profiling/power/power_summary.h"

namespace app {

class IdleReadings {
 public:
  struct Options {
    std::chrono::milliseconds period{500};
    std::string library = profiling::kNvmlLibrary;
  };
  IdleReadings(const engine::RunProgress& progress, const Options& options);
  IdleReadings(const IdleReadings&) = delete;
  IdleReadings& operator=(const IdleReadings&) = delete;
  /// Abandons the thread if NVML does not return within a second.
  ~IdleReadings();

  /// The bus id as CUDA formats it; `missing` says why there is none.
  void set_device(const std::string& pci_bus_id, const std::string& missing);
  void watch(bool on);
  /// One sample with time 0, or why there is none. Empty while the window does not watch, while an
  /// order is in progress and until the first reading.
  std::optional<profiling::PowerTrace> latest() const;

 private:
  struct Shared;
  static void read_until_stopped(Shared& shared);

  std::shared_ptr<Shared> shared_;
  std::optional<profiling::NvmlThread> thread_;
};

}  // namespace app
