// A core dump of the device while a kernel hangs, requested from outside of its stream: the driver
// of a process reads a named pipe, and writes the dump when something arrives there. No CUDA.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>

#include "engine/model/fields.h"

namespace profiling {

/// What the driver of one process was told before its first CUDA call: CUDA_COREDUMP_PIPE and
/// CUDA_COREDUMP_FILE, beside CUDA_ENABLE_USER_TRIGGERED_COREDUMP.
struct CoreDumpFiles {
  std::string pipe;
  std::string file;
};

struct CoreDump {
  std::string path = {};     // empty = none
  std::string missing = {};  // why there is none; empty if none was requested
  bool operator==(const CoreDump&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&CoreDump::path>(engine::kPath),
                      engine::field<&CoreDump::missing>()};
  }
};

/// Those of this process, paths without patterns; none = its environment asks for none.
std::optional<CoreDumpFiles> own_core_dump_files();

/// How long to wait for the dump.
inline constexpr double kCoreDumpSeconds = 20;

/// What ends the wait for a core dump early.
struct CoreDumpWait {
  std::function<bool()> give_up{};      // returns true: there is no dump
  std::function<bool()> writer_ends{};  // returns true: what has been written is complete
};

/// Waits at most `seconds` for the file to be complete. Its kernels do not go on afterwards, so a
/// program that checks its errors may end right after the driver has written it. None asked for =
/// neither a path nor a reason.
CoreDump take_core_dump(const std::optional<CoreDumpFiles>& files, double seconds,
                        const CoreDumpWait& wait = {});

}  // namespace profiling
