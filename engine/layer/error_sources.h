// Error sources of an expert layer's Y, on the device: it computes Y repeatedly, each time with one
// operand of forward left unquantized.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "engine/layer/expert_layer_step.h"
#include "engine/model/error.h"
#include "engine/model/run_result.h"

namespace engine {

/// X, Wup or Wdown of layer 0.
struct ForwardOperand {
  StepTensor tensor = StepTensor::X;
  kernels::GroupedInput input;     // unquantized, in high precision
  const float* decoded = nullptr;  // as its products read it; null = nothing is quantized
  float* read = nullptr;           // the copy that the reference's products read
};

/// Fills unquantized_y of the tensors, and expert_layer. `reference` computes in FP32; its operands
/// and outputs of forward are overwritten. `y` is the Y of the lossless layer, in other memory. H
/// and Y are rounded to high precision as by the step's products, and A is quantized by the step's
/// kernels. Synchronises.
Status measure_error_sources(const ExpertLayerStep& step, const ExpertLayerStep& reference,
                             const std::vector<ForwardOperand>& operands, const float* y,
                             cudaStream_t stream, RunResult& result);

/// Device bytes that measure_error_sources() allocates.
std::int64_t error_source_bytes(const ExpertLayerConfig& config);

}  // namespace engine
