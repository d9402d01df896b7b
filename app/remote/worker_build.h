// A worker with CUDA for other machines, where the worker of this build has none: built from the
// source tree by app/build_cuda_worker, which fetches the compiler that is missing here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/remote/worker_bundle.h"
#include "engine/model/error.h"

namespace app {

struct CudaWorkerPlan {
  std::string cannot;                // why none can be built here; empty = it can
  bool built = false;                // one is there, from these or from former sources
  std::vector<std::string> fetches;  // "the CUDA compiler, 115 MB (345 MB unpacked)"
  int cpu_minutes = 0;               // to compile it, of all processors together
};

/// Starts the script with --plan, which changes nothing.
engine::Result<CudaWorkerPlan> plan_cuda_worker(const std::function<bool()>& stop);

/// "It fetches A and B from PyPI, then compiles for about 8 minutes on the 2 processors here."
std::string plan_words(const CudaWorkerPlan& plan, int processors);

struct BuildProgress {
  std::string words;     // "Compiling, file 12 of 180"
  double fraction = -1;  // negative = not known
};

/// "[12/180] Building ..." of Ninja by its numbers, any other line as it is.
BuildProgress build_progress(const std::string& line);

/// Builds what has changed since the last time, and packs it. Errors have the last line that the
/// build printed.
engine::Result<WorkerBundle> build_cuda_bundle(
    const std::function<void(const BuildProgress&)>& progress, const std::function<bool()>& stop);

}  // namespace app
