// What power-of-two scales leave unused of a code's range, block by block.
#pragma once

#include <span>
#include <vector>

#include "engine/model/recipe_comparison.h"
#include "engine/quantize/statistics_fold.h"
#include "kernels/common/types.h"

namespace engine {

/// One entry per group. Amax that the recipe did not keep is taken from the operand. NVFP4 gives
/// entries without scales.
std::vector<RangeWaste> range_waste(const kernels::GroupedInput& input, const ScaleArrays& arrays,
                                    float amax_epsilon);

/// Means weighted by scales.
RangeWaste total_waste(std::span<const RangeWaste> groups);

}  // namespace engine
