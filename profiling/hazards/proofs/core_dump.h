// A core dump of the device while a kernel hangs: requested through the driver's user trigger, so
// that the process and its other streams continue.
#pragma once

#include <string>

namespace profiling {

struct CoreDump {
  std::string path;     // empty = none
  std::string missing;  // why there is none; empty if none was requested
};

/// How long a stall waits for the dump.
inline constexpr double kCoreDumpSeconds = 20;

/// Requires CUDA_ENABLE_USER_TRIGGERED_COREDUMP, CUDA_COREDUMP_PIPE and CUDA_COREDUMP_FILE in the
/// environment since before the first CUDA call, paths without patterns. Waits at most `seconds`
/// for the file to be complete.
CoreDump take_core_dump(double seconds);

}  // namespace profiling
