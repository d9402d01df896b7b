// The rule of MicroLosses, the same on the host and on the device.
#pragma once

#include "kernels/common/scale_rule.h"
#include "kernels/dequantize/group_view.h"

namespace kernels {

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
