// The numerics of an expert layer, read from the device: operand statistics, and the error of every
// tensor of layer 0 against a layer that computes in FP32 from the unquantized operands.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/layer/expert_layer_step.h"
#include "engine/linear/output_reference.h"
#include "engine/model/error.h"
#include "engine/model/run_result.h"

namespace engine {

/// Fills the statistics of the operands, experts and expert_layer of `result`, whose effective
/// request describes the step. Reads the outputs of the last launch, before which an accumulating
/// dW must have been zero. Synchronises.
Status measure_layer_numerics(const ExpertLayerStep& step, cudaStream_t stream, RunResult& result);

/// After a launch that had these splits. The step must outlive it. Synchronises.
Result<std::unique_ptr<OutputReference>> make_output_reference(
    const ExpertLayerStep& step, const std::vector<std::int64_t>& splits, cudaStream_t stream);

/// Device bytes that measure_layer_numerics() allocates beside the step.
std::int64_t layer_numerics_bytes(const ExpertLayerConfig& config);

}  // namespace engine
