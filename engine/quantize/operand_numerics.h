// Effect of quantization on an operand, for any recipe: error sums, largest errors, codes in use,
// histograms of scales, the scale map. Reads the plain arrays of unpacked_operand.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/input/tensor_source.h"
#include "engine/model/recipe_comparison.h"
#include "engine/quantize/unpacked_operand.h"
#include "kernels/diagnostics/statistics.h"

namespace engine {

/// What a comparison quantizes. The groups of activations and gradients are the experts' tokens,
/// those of weights have n rows each.
struct ComparedOperand {
  OperandRole role = OperandRole::Activations;
  std::int64_t columns = 0;
  std::vector<std::int64_t> rows = {};          // of each group
  std::vector<std::int64_t> row_offsets = {0};  // [groups + 1]

  std::int64_t all_rows() const { return row_offsets.back(); }
  std::int64_t elements() const { return all_rows() * columns; }
};
/// `splits`: tokens of each expert.
ComparedOperand compared_operand(const ComparisonRequest& request,
                                 std::span<const std::int64_t> splits);

/// Element i of an operand in its own type, as FP32 (exact).
float element_value(const kernels::GroupedInput& input, std::int64_t i);

/// One entry per scale, in the order of the blocks: the factor that decodes the block's first
/// element.
struct PlainScales {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> factors;
  std::vector<std::int64_t> elements = {};        // that each scale covers
  std::vector<kernels::BlockLosses> losses = {};  // of each scale, or empty: not counted
  std::vector<std::int64_t> first_row = {0};      // [groups + 1]
};

/// Appends the groups of a view, without their losses.
void add_plain_scales(const OperandLayout& layout, const kernels::QuantizedView& view,
                      std::span<const std::int64_t> splits, const UnpackedOperand& operand,
                      PlainScales& plain);

/// Appends the groups of `more` to `all`.
void append(const PlainScales& more, PlainScales& all);

/// log2 of the factors, folded so that every scale falls into exactly one cell.
ScaleMap fold_plain_scales(const PlainScales& plain, const ScaleGrid& block);

/// Fills statistics, errors and code counts of the report; `amax` may be null. All of the operand's
/// rows belong to groups. Codes of transformed elements count as saturated and towards max_ulp by
/// their distance from the transformed element. `groups`: optional, the error sums of every group
/// are added; `scales`: optional, the scales with their losses are.
void measure_operand(const kernels::GroupedInput& input, const OperandLayout& layout,
                     const kernels::QuantizedView& view, std::span<const std::int64_t> splits,
                     const UnpackedOperand& operand, const float* amax, QuantizationReport& report,
                     std::vector<kernels::GroupQuantizationSums>* groups = nullptr,
                     PlainScales* scales = nullptr);

/// As measure_operand(), plus the experts' rows with the range that their scales leave unused. The
/// report's recipe is set.
void measure_report(const kernels::GroupedInput& input, const OperandLayout& layout,
                    const kernels::QuantizedView& view, std::span<const std::int64_t> splits,
                    const UnpackedOperand& operand, const float* amax, QuantizationReport& report);

/// A corner of at most kMaxSampleSide x kMaxSampleSide elements; near the operand's end it moves up
/// and left to keep its size.
QuantizationSample sample_operand(const kernels::GroupedInput& input,
                                  const UnpackedOperand& operand, std::int64_t row,
                                  std::int64_t column);

}  // namespace engine
