// Which kernels and modules the driver loads while a graph is captured. With CUPTI in the process,
// so only for an experiment that replays nothing: a tracer changes what is replayed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/model/error.h"

namespace profiling {

class LoadWatch {
 public:
  /// Watches from now on. An error where CUPTI is missing, or another one holds it.
  static engine::Result<std::unique_ptr<LoadWatch>> start();
  virtual ~LoadWatch() = default;
  /// Ends the watch: one text a load, by time, such as "late_kernel, 0.41 ms". The kernel is the
  /// one whose launch the load names by its correlation id.
  virtual engine::Result<std::vector<std::string>> stop() = 0;
};

}  // namespace profiling
