// The update of one group, the same on the host and on the device.
#pragma once

#include <cmath>

#include "kernels/amax/delayed_scaling.h"
#include "kernels/common/scale_rule.h"

namespace kernels {

/// The value that enters the group's column of the history; 0 = do not roll.
KERNELS_HOST_DEVICE inline float newest_amax(const DelayedScalingUpdateArgs& args, int group) {
  const float reduced = args.reduced_amax != nullptr ? args.reduced_amax[group] : 0.0F;
  return reduced != 0.0F ? reduced : args.history[group];
}

/// The next scale from the amax that the algorithm selected.
KERNELS_HOST_DEVICE inline void make_delayed_scale(const DelayedScalingUpdateArgs& args, int group,
                                                   float amax) {
  float scale = args.scale[group];
  if (amax > 0.0F && amax <= 3.402823466e38F) {
#ifdef __CUDA_ARCH__
    scale = __fdiv_rn(ldexpf(fp8_max(args.format), -args.margin), amax);
#else
    scale = std::ldexp(fp8_max(args.format), -args.margin) / amax;
#endif
    if (scale > 3.402823466e38F) scale = 3.402823466e38F;
    if (args.pow2) {
#ifdef __CUDA_ARCH__
      scale = __uint_as_float(__float_as_uint(scale) & 0xFF800000U);
#else
      scale = std::bit_cast<float>(std::bit_cast<std::uint32_t>(scale) & 0xFF800000U);
#endif
    }
    args.scale[group] = scale;
  }
#ifdef __CUDA_ARCH__
  args.scale_inv[group] = __frcp_rn(scale);
#else
  args.scale_inv[group] = 1.0F / scale;
#endif
}

}  // namespace kernels
