// A core dump of the device while a kernel hangs: asked for through the driver's user trigger, so
// that the process and its other streams go on.
#pragma once

#include <string>

namespace profiling {

struct CoreDump {
  std::string path;     // empty = there is none
  std::string missing;  // why there is none; empty if nobody wanted one
};

/// How long a stall waits for the dump.
inline constexpr double kCoreDumpSeconds = 20;

/// Wants CUDA_ENABLE_USER_TRIGGERED_COREDUMP, CUDA_COREDUMP_PIPE and CUDA_COREDUMP_FILE in the
/// environment since before the first CUDA call, paths without patterns. Waits for the file to be
/// complete, `seconds` at most.
CoreDump take_core_dump(double seconds);

}  // namespace profiling
