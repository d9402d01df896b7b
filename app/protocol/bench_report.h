// What a benchmark on a worker tells: once about the machine, then row by row.
#pragma once

#include <cstdint>
#include <string>

#include "engine/model/bench_suite.h"
#include "engine/model/run_result.h"
#include "profiling/power/power_summary.h"

namespace app {

/// Comes before the first row.
struct BenchStart {
  std::uint64_t id = 0;  // of the order
  engine::DeviceFacts device;
  std::string runtime = {};    // "CUDA runtime 13.0", empty on the CPU
  int threads = 0;             // that share a launch; 0 on a device
  std::string no_device = {};  // why on the CPU, if that was not asked for
  std::string time_method = {};
  std::string power_method = {};     // "instant", "mean of one second", or empty
  std::string power_missing = {};    // why rows have no clock and power; empty = they have
  std::string peer = {};             // who takes turns with us: "torch 2.9.0 (CUDA 13.0)"
  std::string peer_missing = {};     // why nobody does, if it was asked for
  std::string kernels_missing = {};  // why steps have no sum of their kernels; empty = they have
};

struct BenchRowReport {
  std::uint64_t id = 0;
  engine::BenchRow row;
  profiling::PowerSummary power;
  /// No reading fell into the row's own launches: `power` is of everything that ran on its shape.
  bool power_of_shape = false;
};

/// A row that was skipped has no power.
struct LinearRowReport {
  std::uint64_t id = 0;
  engine::LinearBenchRow row;
  profiling::PowerSummary power;
  bool power_of_shape = false;  // as in BenchRowReport
};

struct BenchDone {
  std::uint64_t id = 0;
};

}  // namespace app
