// Delayed scaling: the scale of the next step from the amax of earlier ones. One launch updates all
// groups of a tensor.
#pragma once

#include <cmath>

#include "kernels/common/exact_float.h"
#include "kernels/common/types.h"

namespace kernels {

/// cur = reduced_amax[i] where given and not 0, else history[0][i].
/// cur == 0 leaves the column of the history and the scale unchanged, except for row 0 = 0.
/// Otherwise the history rolls: row r = old row r + 1 for 1 <= r < length - 1, row length - 1 =
/// cur, row 0 = 0 (old row 1 is dropped; with length 1 only row 0 = 0 happens).
/// amax = cur, or max(cur, old rows 1..length-1). scale = (format_max * 2^-margin) / amax, FP32, if
/// amax is finite and above 0 (an infinite quotient becomes FLT_MAX), else the old scale.
/// scale_inv = 1 / scale rounded to nearest, always written.
/// Source: Transformer Engine, common/recipe/delayed_scaling.cu (behaviour).
struct DelayedScalingUpdateArgs {
  float* history = nullptr;  // [length, num_groups] row-major; quantize writes its amax to row 0
  int length = 0;            // >= 1
  int num_groups = 0;
  AmaxAlgorithm algorithm = AmaxAlgorithm::Max;
  int margin = 0;
  Fp8Format format = Fp8Format::E4m3;
  bool pow2 = false;                    // round the new scale down to a power of two
  const float* reduced_amax = nullptr;  // [num_groups], optional
  float* scale = nullptr;               // [num_groups], read and written
  float* scale_inv = nullptr;           // [num_groups]
  const float* noop = nullptr;          // optional scalar: 1 = nothing changes
};

void delayed_scaling_update_cpu(const DelayedScalingUpdateArgs& args);
#ifdef EXPERTSCOPE_WITH_CUDA
cudaError_t delayed_scaling_update(const DelayedScalingUpdateArgs& args, LaunchStream stream);
#endif

// The update of one group, the same on the host and on the device.

/// The value that enters the group's column of the history; 0 = do not roll.
KERNELS_HOST_DEVICE inline float newest_amax(const DelayedScalingUpdateArgs& args, int group) {
  const float reduced = args.reduced_amax != nullptr ? args.reduced_amax[group] : 0.0F;
  return reduced != 0.0F ? reduced : args.history[group];
}

/// The next scale from the amax that the algorithm selected.
KERNELS_HOST_DEVICE inline void make_delayed_scale(const DelayedScalingUpdateArgs& args, int group,
                                                   float amax) {
  float scale = args.scale[group];
  if (amax > 0.0F && amax <= kLargestFloat) {
    scale = exact_divide(std::ldexp(fp8_max(args.format), -args.margin), amax);
    if (scale > kLargestFloat) scale = kLargestFloat;
    if (args.pow2) scale = round_down_to_power_of_two(scale);
    args.scale[group] = scale;
  }
  args.scale_inv[group] = exact_reciprocal(scale);
}

}  // namespace kernels
