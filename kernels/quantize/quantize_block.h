// FP8 block scaling: 1x128 blocks (activations) and 128x128 blocks (weights), one read of the
// input, rowwise output.
#pragma once

#include "kernels/common/types.h"

namespace kernels {

/// Layout of scale_inv and block_amax, FP32, with Bx = ceil_div(columns, 128), m = the group's rows
/// (GEMM-ready):
///   1x128:   [Bx, round_up(m, 4)] row-major a group: index bx * round_up(m, 4) + row. The group
///   starts at
///            Bx * sum over earlier groups of round_up(m, 4).
///   128x128: [ceil_div(m, 128), round_up(Bx, 4)] a group: index by * round_up(Bx, 4) + bx. The
///   group starts at
///            round_up(Bx, 4) * sum over earlier groups of ceil_div(m, 128).
/// Padding elements are not written. Blocks never straddle groups; a block's missing rows or
/// columns count as 0.
struct QuantizeBlockArgs {
  GroupedInput input;
  Fp8Format format = Fp8Format::E4m3;
  ScaleOptions options = {};
  std::uint8_t* output = nullptr;  // [capacity_rows, columns] rowwise FP8 codes
  float* scale_inv = nullptr;      // 1 / scale, IEEE
  float* block_amax = nullptr;     // optional: before epsilon
};

/// Floats to allocate for scale_inv without knowing the splits (any routing of capacity_rows over
/// num_groups fits).
constexpr std::int64_t block_1x128_scale_capacity(std::int64_t capacity_rows, int num_groups,
                                                  std::int64_t columns) {
  return ceil_div(columns, kBlock) * (capacity_rows + 3 * std::int64_t{num_groups});
}
constexpr std::int64_t block_128x128_scale_capacity(std::int64_t capacity_rows, int num_groups,
                                                    std::int64_t columns) {
  return (capacity_rows / kBlock + num_groups) * round_up(ceil_div(columns, kBlock), 4);
}

void quantize_block_1x128_cpu(const QuantizeBlockArgs& args);
void quantize_block_128x128_cpu(const QuantizeBlockArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
cudaError_t quantize_block_1x128(const QuantizeBlockArgs& args, cudaStream_t stream);
cudaError_t quantize_block_128x128(const QuantizeBlockArgs& args, cudaStream_t stream);
#endif

}  // namespace kernels
