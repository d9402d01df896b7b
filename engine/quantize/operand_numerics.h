// What quantizing did to an operand, for any recipe: error sums, largest errors, codes in use,
// histograms of scales, the scale map. Reads the plain arrays of unpacked_operand.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/recipe_comparison.h"
#include "engine/quantize/unpacked_operand.h"
#include "kernels/diagnostics/statistics.h"

namespace engine {

/// Element i of an operand in its own type, as FP32 (exact).
float element_value(const kernels::GroupedInput& input, std::int64_t i);

/// Fills statistics, errors and code counts of the report; `amax` may be null. All of the operand's
/// rows belong to groups. Codes of transformed elements count as saturated and towards max_ulp by
/// their distance from the transformed element. `groups`: optional, the error sums of every group.
void measure_operand(const kernels::GroupedInput& input, const OperandLayout& layout,
                     const kernels::QuantizedView& view, std::span<const std::int64_t> splits,
                     const UnpackedOperand& operand, const float* amax, QuantizationReport& report,
                     std::vector<kernels::GroupQuantizationSums>* groups = nullptr);

/// A corner of at most kMaxSampleSide x kMaxSampleSide elements; near the end it moves up and left,
/// so that it stays full.
QuantizationSample sample_operand(const kernels::GroupedInput& input,
                                  const UnpackedOperand& operand, std::int64_t row,
                                  std::int64_t column);

}  // namespace engine
