// Values of all codes of a quantized operand, before scaling.
#pragma once

#include <array>
#include <span>

#include "kernels/common/fp8_decode.h"
#include "kernels/dequantize/group_view.h"

namespace kernels {

inline constexpr std::array<float, 16> kE2m1Values = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,
                                                      4.0F,  6.0F,  -0.0F, -0.5F, -1.0F, -1.5F,
                                                      -2.0F, -3.0F, -4.0F, -6.0F};

/// 256 values of FP8, 16 of E2M1.
inline std::span<const float> code_values(const QuantizedView& view) {
  if (is_nvfp4(view.layout)) return kE2m1Values;
  return fp8_values(view.format);
}

}  // namespace kernels
