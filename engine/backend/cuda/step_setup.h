// Prepares the inputs of a grouped step from a request: gates, configuration, operands on the
// device. Shared by runs and the graph doctor, so that both examine the same step.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "engine/backend/cuda/device_operands.h"
#include "engine/device/buffer.h"
#include "engine/gemm/support.h"
#include "engine/linear/grouped_step.h"
#include "engine/model/run_result.h"
#include "engine/model/shape.h"
#include "engine/observe/step_observer.h"

namespace engine {

inline constexpr double kUploadShare = 0.3;  // of RunProgress::fraction

/// Fills result.effective, emulated and deviations, or refuses with the gate's sentence.
Status apply_gates(const RunRequest& request, const DeviceCapability& capability,
                   const std::string& library_path, RunResult& result);

/// Of the effective request of `result`.
StepConfig step_config(const RunResult& result, const GroupedShape& shape, int compute_major);

/// Operands of a step; the biases are owned here, everything else by `operands`.
struct UploadedStep {
  StepOperands operands;
  std::vector<DeviceBuffer> biases;  // a layer
};

/// Values that had to be rounded become deviations of `result`.
Result<UploadedStep> upload_step(RunResult& result, const StepConfig& config,
                                 DeviceOperands& operands, cudaStream_t stream, RunContext context);

}  // namespace engine
