// MXFP8: FP8 codes with one power-of-two scale (E8M0 byte) per 32 adjacent elements. Rowwise blocks
// are 32 columns of one row, columnwise ones 32 rows of one column; both come from one read
// of the input.
#pragma once

#include "kernels/common/micro_scales.h"
#include "kernels/common/types.h"

namespace kernels {

inline constexpr std::int64_t kMxBlock = 32;

/// The scale byte: amax * (1 / format_max), the reciprocal rounded to FP32 first (0x3B124925 for
/// E4M3, 0x37924925 for E5M2), rounded up to a power of two. NaN 0xFF, inf 0xFE, zero 0.
/// Multiplier of the elements: 2^(127 - byte); byte 255 gives NaN, byte 254 2^-127. NaN elements do
/// not reach amax. Pow-2 and epsilon do not apply: the scale is already a power of two.
struct Mxfp8Output {
  std::uint8_t* codes = nullptr;   // [m, columns] per group, never transposed; null = skip
  std::uint8_t* scales = nullptr;  // see micro_scales.h, block = 32
};

struct QuantizeMxfp8Args {
  GroupedInput input;  // columns % 16 == 0; a row's last block may have 16 columns
  OutputRows output_rows = {};
  Fp8Format format = Fp8Format::E4m3;
  bool square_blocks = false;  // one scale per 32 x 32 elements (weights), same codes both ways
  MicroScaleLayout layout = MicroScaleLayout::Compact;
  Mxfp8Output rowwise = {};
  Mxfp8Output columnwise = {};
  /// Optional: sums of the input's columns, see bias/bias.h.
  float* bias_partials = nullptr;
  LaunchControls controls = {};
};

void quantize_mxfp8_cpu(const QuantizeMxfp8Args& args);
#ifdef EXPERTSCOPE_WITH_CUDA
cudaError_t quantize_mxfp8(const QuantizeMxfp8Args& args, LaunchStream stream);
#endif

}  // namespace kernels
