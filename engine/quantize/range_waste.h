// What power-of-two scales leave unused of a code's range, block by block.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/recipe_comparison.h"
#include "engine/quantize/operand_numerics.h"

namespace engine {

/// One entry per group. `plain`: scales of these groups in order; `amax`: one per scale in the same
/// order, or empty where the layout keeps none and it is taken from the operand. NVFP4 gives
/// entries without scales.
std::vector<RangeWaste> range_waste(const kernels::GroupedInput& input, const OperandLayout& layout,
                                    std::span<const std::int64_t> splits, const PlainScales& plain,
                                    std::span<const float> amax, float amax_epsilon);

/// Means weighted by scales.
RangeWaste total_waste(std::span<const RangeWaste> groups);

}  // namespace engine
