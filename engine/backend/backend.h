// The interface of a backend; code above it is the same in the CPU and the CUDA flavour.
#pragma once

#include <memory>
#include <string>

#include "engine/model/error.h"
#include "engine/model/recipe_comparison.h"
#include "engine/model/run_request.h"
#include "engine/model/run_result.h"
#include "engine/observe/step_observer.h"

namespace engine {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual GemmBackend kind() const = 0;
  virtual DeviceFacts device() const = 0;
  /// Runs the request to its end on the calling thread. The request has passed validate().
  /// Cancelled when progress.cancel was seen; no partial result is returned.
  virtual Result<RunResult> run(const RunRequest& request, RunContext context) = 0;
  /// Every recipe on one operand, numerics and times. The request has passed validate(). A recipe
  /// that cannot run here is a report with its reason; Cancelled as run() does.
  virtual Result<RecipeComparison> compare(const ComparisonRequest& request,
                                           RunContext context) = 0;
};

/// A backend, or the reason why this machine has none ("no CUDA driver: ...").
struct BackendSlot {
  GemmBackend kind = GemmBackend::CpuReference;
  std::unique_ptr<Backend> backend;  // null = unavailable
  std::string reason;                // why it is unavailable
};

std::unique_ptr<Backend> make_cpu_backend();
/// Loads cuBLASLt from `cublaslt_path` (empty = search order of engine/gemm/cublaslt_library.h).
/// Never throws and never needs a driver to be installed: without one the slot says so. Built only
/// in the CUDA flavour.
BackendSlot make_cuda_backend(const std::string& cublaslt_path);

}  // namespace engine
