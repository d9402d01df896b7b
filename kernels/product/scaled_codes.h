// An operand of a product of FP8 block scaling.
#pragma once

#include <cstdint>

#include "kernels/common/formats.h"

namespace kernels {

/// One direction of what quantize_block_lines() or quantize_block_squares() writes.
struct ScaledCodes {
  const std::uint8_t* codes = nullptr;
  const float* scale_inv = nullptr;
  Fp8Format format = Fp8Format::E4m3;
};

}  // namespace kernels
