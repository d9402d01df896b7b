// What quantization did to one element, with the same bits on the host and on the device: its
// distance from the decoded value in units in the last place of its code (up to half a unit is
// correct rounding, more comes from saturation, a rounded scale or a stale one), and whether it was
// cut.
#pragma once

#include "kernels/common/exact_float.h"
#include "kernels/dequantize/group_view.h"

namespace kernels {

/// The grid of values that codes represent, before scaling.
struct CodeGridBits {
  float largest = 0.0F;
  std::uint32_t smallest_normal = 0;  // FP32 bits
  std::uint32_t mantissa_bits = 0;
};

KERNELS_HOST_DEVICE constexpr CodeGridBits code_grid_bits(const QuantizedView& view) {
  if (is_nvfp4(view.layout)) return {6.0F, 127U << 23, 1};
  const bool e4m3 = view.format == Fp8Format::E4m3;
  return {fp8_max(view.format), (127U - (e4m3 ? 6U : 14U)) << 23, e4m3 ? 3U : 2U};
}

/// `error`: |x - decoded|, finite; `value_bits`: of the code's value in FP32; `factor`: its
/// decoding factor. 0 where a unit is not a positive FP32 number.
KERNELS_HOST_DEVICE inline float code_ulps(float error, std::uint32_t value_bits, float factor,
                                           const CodeGridBits& grid) {
  const std::uint32_t exponent = value_bits & 0x7F800000U;
  const std::uint32_t at = exponent > grid.smallest_normal ? exponent : grid.smallest_normal;
  const float unit = exact_multiply(factor, bits_to_float(at - (grid.mantissa_bits << 23)));
  return unit > 0.0F ? exact_divide(error, unit) : 0.0F;
}

/// Elements with |x * scale| > limit are cut. The limit is 2^-22 above the largest code: scales are
/// rounded, so the element that set one may come out an ulp or two above without having been cut.
struct SaturationRule {
  float scale = 1.0F;
  double limit = 0.0;
};

/// For elements that are decoded with `factor`. A byte scale that is not above 0 cuts nothing.
KERNELS_HOST_DEVICE inline SaturationRule saturation_rule(const QuantizedView& view, float factor) {
  const float largest = code_grid_bits(view).largest;
  if (has_micro_scales(view.layout)) {
    return {1.0F, factor > 0.0F ? static_cast<double>(factor) * (largest * (1.0 + 0x1p-22))
                                : static_cast<double>(bits_to_float(0x7F800000U))};
  }
  // The scale may have been the largest float, whose inverse does not invert back.
  const float scale = exact_divide(1.0F, factor);
  return {scale > kLargestFloat ? kLargestFloat : scale, exact_multiply(largest, 1.0F + 0x1p-22F)};
}

/// NaN compares false: it is not cut.
KERNELS_HOST_DEVICE inline bool is_saturated(float x, const SaturationRule& rule) {
  const float scaled = exact_multiply(x, rule.scale);
  return static_cast<double>(scaled < 0.0F ? -scaled : scaled) > rule.limit;
}

}  // namespace kernels
