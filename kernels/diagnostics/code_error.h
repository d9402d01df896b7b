// How far a decoded value is from its element, in units in the last place of its code: up to half a
// unit is correct rounding, more comes from saturation, a rounded scale or a stale one. The same
// bits on the host and on the device.
#pragma once

#include "kernels/common/scale_rule.h"
#include "kernels/common/silu.h"  // exact_multiply and its like
#include "kernels/dequantize/group_view.h"

namespace kernels {

/// The grid of values that codes represent, before scaling.
struct CodeGridBits {
  std::uint32_t smallest_normal = 0;  // FP32 bits
  std::uint32_t mantissa_bits = 0;
};

KERNELS_HOST_DEVICE constexpr CodeGridBits code_grid_bits(Fp8Format format) {
  return format == Fp8Format::E4m3 ? CodeGridBits{(127U - 6U) << 23, 3}
                                   : CodeGridBits{(127U - 14U) << 23, 2};
}
inline constexpr CodeGridBits kE2m1GridBits = {127U << 23, 1};

/// `error`: |x - decoded|, finite; `value_bits`: of the code's value in FP32; `factor`: its
/// decoding factor. 0 where a unit is not a positive FP32 number.
KERNELS_HOST_DEVICE inline float code_ulps(float error, std::uint32_t value_bits, float factor,
                                           const CodeGridBits& grid) {
  const std::uint32_t exponent = value_bits & 0x7F800000U;
  const std::uint32_t at = exponent > grid.smallest_normal ? exponent : grid.smallest_normal;
  const float unit = exact_multiply(factor, bits_to_float(at - (grid.mantissa_bits << 23)));
  return unit > 0.0F ? exact_divide(error, unit) : 0.0F;
}

// The rule of MicroLosses, the same on the host and on the device.

/// Slightly above the view's largest code: the element that set a scale may round past it.
KERNELS_HOST_DEVICE inline double micro_saturation_limit(const QuantizedView& view) {
  const double largest = is_nvfp4(view.layout)            ? 6.0
                         : view.format == Fp8Format::E4m3 ? 448.0
                                                          : 57344.0;
  return largest * (1.0 + 0x1p-22);
}

KERNELS_HOST_DEVICE inline bool micro_saturated(float x, float factor, double limit) {
  const double magnitude = x < 0.0F ? -static_cast<double>(x) : static_cast<double>(x);
  return factor > 0.0F && magnitude > static_cast<double>(factor) * limit;
}

}  // namespace kernels
