// Errors of the tensors that an expert layer reads and makes for tokens.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/layer/expert_layer_step.h"
#include "engine/model/error.h"
#include "engine/model/run_result.h"

namespace engine {

/// Yt, dXt and dp of layer 0 against those of a reference that computes in FP32, both after a
/// launch. Does nothing for a step that begins at rows. Synchronises.
Status measure_token_errors(const ExpertLayerStep& step, const ExpertLayerStep& reference,
                            cudaStream_t stream, RunResult& result);

}  // namespace engine
