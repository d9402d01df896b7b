// Recipes side by side on the CPU: each in both directions on the same operand, numerics first,
// then times with a copy between them.
#pragma once

#include "engine/backend/backend.h"
#include "engine/model/recipe_comparison.h"

namespace engine {

/// Every recipe of the request gives two reports, rowwise and columnwise; BF16 is
/// refused in its report. Cancelled as Backend::run() does.
Result<RecipeComparison> compare_on_cpu(const ComparisonRequest& request, const DeviceFacts& device,
                                        RunContext context);

}  // namespace engine
