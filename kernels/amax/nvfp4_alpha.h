// The alpha of each group's NVFP4 product. Codes and block scales do not include the two global
// scales, so the product of A and B is alpha times the product of their codes and block scales,
// alpha = S_dec(A) * S_dec(B) with S_dec of quantize/quantize_nvfp4.h. One FP32 product, rounded to
// nearest. Graph-safe: reads the amax written by this step's quantization.
#pragma once

#include "kernels/common/micro_scale_rule.h"
#include "kernels/common/types.h"

namespace kernels {

/// One FP32 value per group: an array, or, for a list of tensors, one pointer each.
struct GroupScalars {
  const float* values = nullptr;       // [num_groups]
  const float* const* each = nullptr;  // [num_groups]; null = `values`
};

struct Nvfp4AlphaArgs {
  GroupScalars amax_a;
  GroupScalars amax_b;
  int num_groups = 0;      // 0..kMaxGroups
  float* alpha = nullptr;  // [num_groups]
};

void nvfp4_alpha_cpu(const Nvfp4AlphaArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
cudaError_t nvfp4_alpha(const Nvfp4AlphaArgs& args, LaunchStream stream);
#endif

// The arithmetic of nvfp4_alpha.h, the same on the host and on the device.

KERNELS_HOST_DEVICE inline float value_of(const GroupScalars& scalars, int group) {
  return scalars.each != nullptr ? *scalars.each[group] : scalars.values[group];
}

KERNELS_HOST_DEVICE inline float nvfp4_alpha_of(const Nvfp4AlphaArgs& args, int group) {
  return exact_multiply(nvfp4_global_scale(value_of(args.amax_a, group)).decode,
                        nvfp4_global_scale(value_of(args.amax_b, group)).decode);
}

}  // namespace kernels
