// FP8 block scaling: blocks of a line (1x128: activations, gradients) and square blocks (128x128:
// weights), rowwise, columnwise or both from one read of the input.
#pragma once

#include "kernels/common/scale_rule.h"
#include "kernels/common/types.h"

namespace kernels {

/// One direction of a block-scaled operand. Columnwise codes are transposed group by group.
///
/// b = elements of a line in a block, Bx = ceil_div(columns, b), m = rows of the group in the
/// output, By = ceil_div(m, b); scales are FP32 and GEMM-ready. Groups are contiguous, so a group
/// starts at the sum of the sizes of the earlier ones:
///   direction            codes                    scales of one group, row-major     index
///   line rowwise         [m, columns]             [Bx, round_up(m, 4)]               (bx, row)
///   line columnwise      [columns, m]             [By, round_up(columns, 4)]         (by, column)
///   square rowwise       [m, columns]             [By, round_up(Bx, 4)]              (by, bx)
///   square columnwise    [columns, m]             [Bx, round_up(By, 4)]              (bx, by)
/// Codes of group g start at element row_offsets[g] * columns in both directions, unless the
/// columnwise lines are joined (OutputRows::joined). A line is
/// b columns of one row, or, columnwise, b rows of one column; both derive their amax from the
/// input, so the two directions hold different codes. A square has one scale and the same codes in
/// both. Padding elements are not written. Blocks never straddle groups; missing rows or
/// columns of a block count as 0.
struct BlockOutput {
  std::uint8_t* codes = nullptr;  // null = skip this direction
  float* scale_inv = nullptr;     // 1 / scale, IEEE
  float* block_amax = nullptr;    // optional, laid out like scale_inv; before epsilon
};

struct QuantizeBlockArgs {
  GroupedInput input;
  OutputRows output_rows = {};
  Fp8Format format = Fp8Format::E4m3;
  int block = static_cast<int>(kBlock);  // b; lines: a power of two up to 128, squares: 128
  ScaleOptions options = {};
  BlockOutput rowwise = {};
  BlockOutput columnwise = {};
  /// Optional: sums of the input's columns, see bias/bias.h.
  float* bias_partials = nullptr;
  LaunchControls controls = {};
};

inline ScaleRule block_scale_rule(const QuantizeBlockArgs& args) {
  return scale_rule(args.format, args.options, input_max(args.input.type));
}

/// Floats to allocate for scale_inv without knowing the splits: enough for any routing of
/// capacity_rows over num_groups.
constexpr std::int64_t block_line_scale_capacity(std::int64_t capacity_rows, int num_groups,
                                                 std::int64_t columns,
                                                 std::int64_t block = kBlock) {
  return ceil_div(columns, block) * (capacity_rows + 3 * std::int64_t{num_groups});
}
constexpr std::int64_t block_square_scale_capacity(std::int64_t capacity_rows, int num_groups,
                                                   std::int64_t columns,
                                                   std::int64_t block = kBlock) {
  return (capacity_rows / block + num_groups) * round_up(ceil_div(columns, block), 4);
}
/// The same for the columnwise direction.
constexpr std::int64_t block_line_columnwise_scale_capacity(std::int64_t capacity_rows,
                                                            int num_groups, std::int64_t columns,
                                                            std::int64_t block = kBlock) {
  return (capacity_rows / block + num_groups) * round_up(columns, 4);
}
constexpr std::int64_t block_square_columnwise_scale_capacity(std::int64_t capacity_rows,
                                                              int num_groups, std::int64_t columns,
                                                              std::int64_t block = kBlock) {
  return ceil_div(columns, block) * (capacity_rows / block + 4 * std::int64_t{num_groups});
}

void quantize_block_lines_cpu(const QuantizeBlockArgs& args);
void quantize_block_squares_cpu(const QuantizeBlockArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
/// cudaErrorNotSupported for a block without a kernel: there are kernels for 128.
cudaError_t quantize_block_lines(const QuantizeBlockArgs& args, LaunchStream stream);
cudaError_t quantize_block_squares(const QuantizeBlockArgs& args, LaunchStream stream);
#endif

}  // namespace kernels
