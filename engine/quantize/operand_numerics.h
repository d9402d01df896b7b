// Effect of quantization on an operand, for any recipe: error sums, largest errors, codes in use,
// histograms of scales, the scale map. Reads the plain arrays of unpacked_operand.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/input/element_rounding.h"
#include "engine/input/tensor_source.h"
#include "engine/model/recipe_comparison.h"
#include "engine/quantize/statistics_fold.h"
#include "engine/quantize/unpacked_operand.h"

namespace engine {

/// What a comparison quantizes. The groups of activations and gradients are the experts' tokens,
/// those of weights have n rows each.
struct ComparedOperand {
  OperandRole role = OperandRole::Activations;
  std::int64_t columns = 0;
  std::vector<std::int64_t> rows = {};          // of each group
  std::vector<std::int64_t> row_offsets = {0};  // [groups + 1]
  std::vector<std::int64_t> splits = {};        // tokens of each expert, of those left out too
  std::int64_t first_row = 0;  // of the whole tensor, where only a part is compared

  std::int64_t all_rows() const { return row_offsets.back(); }
  std::int64_t elements() const { return all_rows() * columns; }
};
/// `splits`: tokens of each expert.
ComparedOperand compared_operand(const ComparisonRequest& request,
                                 std::span<const std::int64_t> splits);
/// The groups that have any of these rows; the others have none.
ComparedOperand with_rows(const ComparedOperand& operand, std::int64_t first, std::int64_t count);

/// Element i of an operand in its own type, as FP32 (exact).
inline float element_value(const kernels::GroupedInput& input, std::int64_t i) {
  return element_value(input.type, input.input, i);
}

/// Element by element, for comparisons: of either direction and of transformed elements too.
struct ElementErrors {
  OperandCounts counts;  // of rows and columns only what saturated
  /// The largest, of elements that reach the smallest normal code; NaN: there are none.
  double relative = std::numeric_limits<double>::quiet_NaN();
  double steps = 0;  // the largest distance from a code's value, in steps of the codes
  std::array<std::uint64_t, 256> code_counts = {};
};

/// All of the operand's rows belong to groups. Codes of transformed elements count as saturated and
/// towards `steps` by their distance from the transformed element.
ElementErrors measure_elements(const kernels::GroupedInput& input, const OperandLayout& layout,
                               const kernels::QuantizedView& view,
                               std::span<const std::int64_t> splits,
                               const UnpackedOperand& operand);

/// Fills statistics, errors, code counts and the experts' rows of the report, whose recipe is set.
/// `amax` as in ScaleArrays.
void measure_report(const kernels::GroupedInput& input, const OperandLayout& layout,
                    const kernels::QuantizedView& view, std::span<const std::int64_t> splits,
                    const UnpackedOperand& operand, const float* amax, QuantizationReport& report);

/// Where an element is in an operand.
struct ElementPlace {
  std::int64_t row = 0;
  std::int64_t column = 0;
};
/// The largest finite |x| of the region of this size at `first`, cut to the operand; of equal ones
/// the first, row by row. `first` if the region holds none.
ElementPlace largest_element(const kernels::GroupedInput& input, ElementPlace first,
                             std::int64_t rows, std::int64_t columns);

/// A corner of at most kMaxSampleSide x kMaxSampleSide elements; near the operand's end it moves up
/// and left to keep its size.
QuantizationSample sample_operand(const kernels::GroupedInput& input,
                                  const UnpackedOperand& operand, std::int64_t row,
                                  std::int64_t column);

}  // namespace engine
