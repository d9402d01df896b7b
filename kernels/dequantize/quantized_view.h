// One description of any quantized operand, read by dequantize, the statistics and code samples.
// Layouts are those of the quantize headers.
#pragma once

#include "kernels/common/micro_scales.h"
#include "kernels/common/types.h"

namespace kernels {

enum class ScaleLayout {
  PerTensor,    // FP32, one per group
  BlockLine,    // FP32, quantize_block.h
  BlockSquare,  // FP32, quantize_block.h
  Mx1x32,       // E8M0, quantize_mxfp8.h
  Mx32x32,      // the same bytes, equal inside a square
  Nv1x16,       // E4M3 and a group's amax, quantize_nvfp4.h; codes are E2M1
  Nv16x16,
};

enum class Direction { Rowwise, Columnwise };

struct QuantizedView {
  const std::uint8_t* codes = nullptr;
  Fp8Format format = Fp8Format::E4m3;  // of FP8 codes
  ScaleLayout layout = ScaleLayout::PerTensor;
  int block = static_cast<int>(kBlock);  // BlockLine and BlockSquare: its side, a power of two
  Direction direction = Direction::Rowwise;
  MicroScaleLayout micro_layout = MicroScaleLayout::Compact;  // MXFP8 and NVFP4
  bool joined = false;    // BlockLine columnwise: OutputRows::joined, lines of capacity_rows
  bool hadamard = false;  // NVFP4 columnwise: decoding undoes the transform (x_i = s_i / 4 * sum_j
                          // (-1)^popcount(i & j) y_j, same order of FP32 additions, signs last)
  const void* scales = nullptr;               // float scale_inv, or bytes
  const float* amax = nullptr;                // [num_groups], NVFP4 only
  const std::int64_t* row_offsets = nullptr;  // [num_groups + 1], of the codes (OutputRows, if
                                              // there were any)
  int num_groups = 0;
  std::int64_t capacity_rows = 0;
  std::int64_t columns = 0;
};

}  // namespace kernels
