// One run on the device, from a checked request to its result. Lives for one call of
// Backend::run(); operands, libraries and stream belong to the backend.
#pragma once

#include <memory>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/device_operands.h"
#include "engine/gemm/cublaslt_library.h"
#include "engine/linear/grouped_step.h"
#include "engine/linear/iteration_clock.h"
#include "engine/model/error.h"
#include "engine/model/shape.h"

namespace engine {

/// The backend's resources that a run uses.
struct CudaRunResources {
  DeviceOperands& operands;
  std::shared_ptr<const CublasLt> library;
  cudaStream_t stream = nullptr;
  DeviceCapability capability = {};
};

/// Fills effective shape, iterations, checks and numerics of `result`; deviations about inputs are
/// added. `result.effective` says what to run.
Status run_on_device(const CudaRunResources& resources, RunContext context, RunResult& result);

}  // namespace engine
