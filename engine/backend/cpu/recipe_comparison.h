// The CPU's side of engine/quantize/compare_recipes.h.
#pragma once

#include "engine/backend/backend.h"
#include "engine/model/recipe_comparison.h"

namespace engine {

/// compare_recipes() with the CPU twins. OutOfMemory if the operand, its copy and one recipe's
/// codes do not fit.
Result<RecipeComparison> compare_on_cpu(const ComparisonRequest& request, const DeviceFacts& device,
                                        RunContext context);

}  // namespace engine
