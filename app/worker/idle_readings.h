// Clock, power and temperature of the device while nothing runs, for a window that looks at them.
// Rule: nothing is read unless somebody watches, nor while an order is under way, so no timed
// iteration ever shares the driver with this thread. NVML is asked here only: a question to a stuck
// driver may not come back, and neither commands nor pulses wait for it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "engine/observe/step_observer.h"
#include "profiling/power/nvml_library.h"
#include "profiling/power/nvml_thread.h"
#include "profiling/power/power_trace.h"

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
  /// Leaves the thread behind where NVML does not come back within a second.
  ~IdleReadings();

  /// As CUDA names the device; `missing` says why there is none.
  void set_device(const std::string& pci_bus_id, const std::string& missing);
  void watch(bool on);
  /// One sample, its time 0, or why there is none. Nothing while nobody watches, while an order is
  /// under way and until the first answer.
  std::optional<profiling::PowerTrace> latest() const;

 private:
  struct Shared;
  static void read_until_stopped(Shared& shared);

  std::shared_ptr<Shared> shared_;
  std::optional<profiling::NvmlThread> thread_;
};

}  // namespace app
