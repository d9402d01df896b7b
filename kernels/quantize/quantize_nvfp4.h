// NVFP4: E2M1 codes, two per byte (the even element in the low half), one E4M3 scale per 16
// adjacent elements and one FP32 amax per group and direction. The columnwise copy may pass through
// a 16-point random Hadamard transform first, and codes may be rounded stochastically.
#pragma once

#include "kernels/common/micro_scale_rule.h"
#include "kernels/common/micro_scales.h"
#include "kernels/common/types.h"

namespace kernels {

/// Global amax of each group: rowwise over |x|, columnwise over |x| or, with hadamard, over the
/// transformed elements. NaN is ignored. Zeroes its outputs, then accumulates.
struct Nvfp4AmaxArgs {
  GroupedInput input;
  bool hadamard = false;             // columnwise only
  float* rowwise_amax = nullptr;     // [num_groups]; null = skip
  float* columnwise_amax = nullptr;  // [num_groups]; null = skip
  const float* noop = nullptr;       // optional scalar: 1 = leave both unchanged
};

/// Rowwise codes: columns / 2 bytes per row, group g starts at byte row_offsets[g] * columns / 2.
/// Columnwise codes are transposed: [columns, round_up(m, 16) / 2] per group, so that every line
/// starts at a whole block (m = rows of the group in the output); missing rows are quantized as
/// zeros, groups are contiguous.
struct Nvfp4Output {
  std::uint8_t* codes = nullptr;   // null = skip this direction
  std::uint8_t* scales = nullptr;  // E4M3, see micro_scales.h, block = 16
  const float* amax = nullptr;     // [num_groups], of Nvfp4AmaxArgs
};

/// Per group S_enc = min(448 * 6 / amax, FLT_MAX), 1 if amax is 0, inf or NaN; S_dec = 1 / S_enc.
/// Per block sf = E4M3(block_amax * (S_enc * fp32(1/6))), encode = min(1 / (float(sf) * S_dec),
/// FLT_MAX), code = E2M1(x * encode), round to nearest even, NaN to +6, saturating. All FP32, IEEE.
/// Stochastic rounding: |v| + u / 256 * step, floored to the grid of the jittered value, with step
/// 0.5 below 2, 1 below 4, else 2 (of |v|); sign kept. The u are the 16 bytes, lowest first, of
/// Philox4x32-10 with key {seed} and counter {block number, offset}, 64 bits each, low word first.
/// The block number counts blocks of 16 in the order of the codes (byte of the codes / 8), with bit
/// 63 set for the columnwise copy.
struct QuantizeNvfp4Args {
  GroupedInput input;  // an activation is refused
  OutputRows output_rows = {};
  bool square_blocks = false;  // one scale per 16 x 16 elements (weights), same codes in both
                               // directions; excludes hadamard
  bool hadamard = false;       // for the columnwise copy
  bool stochastic_rounding = false;
  const std::uint64_t* random_state = nullptr;  // {seed, offset}, read when the kernel runs
  MicroScaleLayout layout = MicroScaleLayout::Compact;
  Nvfp4Output rowwise = {};
  Nvfp4Output columnwise = {};
  LaunchControls controls = {};
};

/// Bytes of columnwise codes for any routing of capacity_rows over num_groups.
constexpr std::int64_t nvfp4_columnwise_code_capacity(std::int64_t capacity_rows, int num_groups,
                                                      std::int64_t columns) {
  return columns * (capacity_rows / 16 + num_groups) * 8;
}

void nvfp4_amax_cpu(const Nvfp4AmaxArgs& args);
void quantize_nvfp4_cpu(const QuantizeNvfp4Args& args);
#ifdef EXPERTSCOPE_WITH_CUDA
cudaError_t nvfp4_amax(const Nvfp4AmaxArgs& args, LaunchStream stream);
cudaError_t quantize_nvfp4(const QuantizeNvfp4Args& args, LaunchStream stream);
#endif

}  // namespace kernels
