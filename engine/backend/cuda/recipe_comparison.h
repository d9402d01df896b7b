// The device's side of engine/quantize/compare_recipes.h: times from CUDA events, numerics from the
// codes copied back.
#pragma once

#include "engine/backend/cuda/device_operands.h"
#include "engine/model/recipe_comparison.h"
#include "engine/observe/step_observer.h"

namespace engine {

/// compare_recipes() with the kernels; the operand is the BF16 tensor that a step on the device
/// quantizes.
Result<RecipeComparison> compare_on_cuda(const ComparisonRequest& request,
                                         const DeviceFacts& device, DeviceOperands& operands,
                                         cudaStream_t stream, RunContext context);

}  // namespace engine
