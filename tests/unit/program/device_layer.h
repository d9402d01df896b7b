// The request of a small expert layer on a device, from which tests of programs start.
#pragma once

#include "engine/model/run_request.h"

namespace engine::testing {

/// Both passes of `layers` layers, FP8 block, without biases.
inline RunRequest device_layer(int layers = 2) {
  RunRequest request;
  request.step = StepKind::ExpertLayer;
  request.backend = GemmBackend::CublasLtGrouped;
  request.shape = {.preset = {}, .num_experts = 2, .rows = 128, .n = 512, .k = 256};
  request.recipe.scaling = Scaling::Block;
  request.products.passes = StepPasses::ForwardBackward;
  request.layers = layers;
  return request;
}

}  // namespace engine::testing
