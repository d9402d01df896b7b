// The readings of one run on the run's own time axis. Plain values.
#pragma once

#include <string>
#include <vector>

#include "profiling/power/power_summary.h"

namespace profiling {

struct PowerTrace {
  std::string method;                // how power was read; empty without samples
  std::string missing;               // why there are no samples; empty if there are any
  std::vector<PowerSample> samples;  // time_ns since the first timed iteration, ascending
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&PowerTrace::method>("method"),
                      engine::field<&PowerTrace::missing>("missing"),
                      engine::field<&PowerTrace::samples>("samples", {.most = 1'000'000})};
  }
};

}  // namespace profiling
