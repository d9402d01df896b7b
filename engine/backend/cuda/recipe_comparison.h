// Recipes side by side on the device: times from CUDA events with a copy between the launches,
// numerics from the codes copied back.
#pragma once

#include "engine/backend/cuda/device_operands.h"
#include "engine/model/recipe_comparison.h"
#include "engine/observe/step_observer.h"

namespace engine {

/// As compare_on_cpu(); the operand is the BF16 tensor that a step on the device quantizes.
Result<RecipeComparison> compare_on_cuda(const ComparisonRequest& request,
                                         const DeviceFacts& device, DeviceOperands& operands,
                                         cudaStream_t stream, RunContext context);

}  // namespace engine
