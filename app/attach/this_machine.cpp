#include <chrono>
#include <ctime>

#include "app/attach/running_program.h"
#include "profiling/power/device_watch.h"

namespace app {

ProcessMachine this_machine() {
  return {.now =
              [] {
                timespec time{};
                ::clock_gettime(CLOCK_MONOTONIC, &time);
                return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
                       static_cast<std::uint64_t>(time.tv_nsec);
              },
          .device =
              [](const std::string& pci_address) {
                constexpr std::chrono::milliseconds kNvmlPatience{1500};
                const profiling::DeviceWatch nvml({.pci_bus_id = pci_address});
                return nvml.wait_for_answer(kNvmlPatience);
              },
          .takes_core_dumps = true};
}

}  // namespace app
