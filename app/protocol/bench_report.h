// What a benchmark on a worker reports: the machine once, then row by row.
#pragma once

#include <cstdint>
#include <string>

#include "engine/model/bench_order.h"
#include "engine/model/run_result.h"
#include "profiling/power/power_summary.h"

namespace app {

/// Precedes the first row.
struct BenchStart {
  std::uint64_t id = 0;  // id of the order
  engine::DeviceFacts device;
  std::string runtime = {};    // "CUDA runtime 13.0", empty on the CPU
  int threads = 0;             // threads that share a launch; 0 on a device
  std::string no_device = {};  // why on the CPU, if the CPU was not asked for
  std::string time_method = {};
  std::string power_method = {};     // "instant", "mean of one second", or empty
  std::string power_missing = {};    // why rows have no clock and power; empty = they have
  std::string peer = {};             // the peer interleaved with us: "torch 2.9.0 (CUDA 13.0)"
  std::string peer_missing = {};     // why there is no peer, if one was asked for
  std::string kernels_missing = {};  // why steps have no kernel sum; empty = they have one
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&BenchStart::id>("id"),
                      engine::field<&BenchStart::device>("device"),
                      engine::field<&BenchStart::runtime>("runtime"),
                      engine::field<&BenchStart::threads>("threads"),
                      engine::field<&BenchStart::no_device>("no_device"),
                      engine::field<&BenchStart::time_method>("time_method"),
                      engine::field<&BenchStart::power_method>("power_method"),
                      engine::field<&BenchStart::power_missing>("power_missing"),
                      engine::field<&BenchStart::peer>("peer"),
                      engine::field<&BenchStart::peer_missing>("peer_missing"),
                      engine::field<&BenchStart::kernels_missing>("kernels_missing")};
  }
};

struct BenchRowReport {
  std::uint64_t id = 0;
  engine::BenchRow row;
  profiling::PowerSummary power;
  /// No reading fell into the row's own launches: `power` covers everything that ran on its shape.
  bool power_of_shape = false;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&BenchRowReport::id>("id"),
                      engine::field<&BenchRowReport::row>("row"),
                      engine::field<&BenchRowReport::power>("power"),
                      engine::field<&BenchRowReport::power_of_shape>("power_of_shape")};
  }
};

/// A skipped row has no power.
struct LinearRowReport {
  std::uint64_t id = 0;
  engine::LinearBenchRow row;
  profiling::PowerSummary power;
  bool power_of_shape = false;  // as in BenchRowReport
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&LinearRowReport::id>("id"),
                      engine::field<&LinearRowReport::row>("row"),
                      engine::field<&LinearRowReport::power>("power"),
                      engine::field<&LinearRowReport::power_of_shape>("power_of_shape")};
  }
};

struct BenchDone {
  std::uint64_t id = 0;
};

}  // namespace app
