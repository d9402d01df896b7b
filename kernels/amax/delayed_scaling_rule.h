// The update of one group, the same on the host and on the device.
#pragma once

#include <cmath>

#include "kernels/amax/delayed_scaling.h"
#include "kernels/common/scale_rule.h"

namespace kernels {

/// Rolls the group's column of the history and makes its next scale.
KERNELS_HOST_DEVICE inline void update_delayed_scale(const DelayedScalingUpdateArgs& args,
                                                     int group) {
  const std::int64_t stride = args.num_groups;
  float* const column = args.history + group;
  const float reduced = args.reduced_amax != nullptr ? args.reduced_amax[group] : 0.0F;
  const float current = reduced != 0.0F ? reduced : column[0];
  float amax = current;
  if (current != 0.0F) {
    for (std::int64_t row = 1; row < args.length; ++row) {
      const float old = column[row * stride];
      if (args.algorithm == AmaxAlgorithm::Max && old > amax) amax = old;
      // old[1] is read and dropped: row r takes what row r + 1 held.
      if (row >= 2) column[(row - 1) * stride] = old;
    }
    if (args.length > 1) column[(args.length - 1) * stride] = current;
  }
  column[0] = 0.0F;
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
