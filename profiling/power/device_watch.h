// What NVML reports about a device that may be stuck: utilisation, clock, power, number of
// processes, and Xid errors. Read by a dedicated thread, because a query to a stuck driver may
// never return; callers get the latest answer and its age.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "profiling/power/nvml_library.h"

namespace profiling {

class DeviceWatch {
 public:
  struct Options {
    std::string pci_bus_id;  // as for PowerSampler
    std::chrono::milliseconds period{200};
    std::string library = kNvmlLibrary;
  };
  /// Never fails: without NVML every answer gives the reason.
  explicit DeviceWatch(const Options& options);
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  /// "NVML, 0.1 s ago: busy 100 % of the time, SM clock 1980 MHz, 118 W of 700 W, 1 process",
  /// without values it did not report; or "NVML is unavailable: ...". Does not wait for NVML.
  std::string latest() const;
  /// The same, once there is an answer or `limit` has passed.
  std::string wait_for_answer(std::chrono::milliseconds limit) const;

 private:
  struct Answer {
    std::string text;
    std::chrono::steady_clock::time_point at;
  };
  struct Shared;

  static void read_until_stopped(Shared& shared);

  std::shared_ptr<Shared> shared_;
  std::optional<NvmlThread> thread_;
};

}  // namespace profiling
