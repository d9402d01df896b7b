// Which kernels and modules the driver loads while a graph is captured. Needs CUPTI in the process,
// so only for an experiment that replays nothing: a tracer affects replays.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/model/error.h"

namespace profiling {

class LoadWatch {
 public:
  /// Watches from now on. An error if CUPTI is missing, or another tool holds it.
  static engine::Result<std::unique_ptr<LoadWatch>> start();
  virtual ~LoadWatch() = default;
  /// Ends the watch: one text per load, in order of time, such as "late_kernel, 0.41 ms". The
  /// kernel is the one whose launch has the load's correlation id.
  virtual engine::Result<std::vector<std::string>> stop() = 0;
};

}  // namespace profiling
