// The arithmetic of nvfp4_alpha.h, the same on the host and on the device.
#pragma once

#include "kernels/amax/nvfp4_alpha.h"
#include "kernels/common/nvfp4_rule.h"

namespace kernels {

KERNELS_HOST_DEVICE inline float value_of(const GroupScalars& scalars, int group) {
  return scalars.each != nullptr ? *scalars.each[group] : scalars.values[group];
}

KERNELS_HOST_DEVICE inline float nvfp4_alpha_of(const Nvfp4AlphaArgs& args, int group) {
  return exact_multiply(nvfp4_global_scale(value_of(args.amax_a, group)).decode,
                        nvfp4_global_scale(value_of(args.amax_b, group)).decode);
}

}  // namespace kernels
