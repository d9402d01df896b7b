// Clears the amax values before a kernel accumulates into them, unless noop keeps them.
#pragma once

#include "kernels/common/launch.cuh"

namespace kernels {

static __global__ void clear_amax_kernel(float* amax, int num_groups, const float* noop) {
  let_successor_start();
  wait_for_predecessor();
  const int group = static_cast<int>(threadIdx.x);
  if (group < num_groups && !is_noop(noop)) amax[group] = 0.0F;
}

/// A memset is faster than a kernel, but cannot be conditional, and a programmatic launch overlaps
/// with kernels only.
inline cudaError_t clear_amax(float* amax, int num_groups, const float* noop, LaunchStream stream) {
  if (noop == nullptr && !stream.programmatic) {
    return cudaMemsetAsync(amax, 0, static_cast<std::size_t>(num_groups) * sizeof(float),
                           stream.stream);
  }
  return launch_dependent(clear_amax_kernel, {.threads = kMaxGroups}, stream, amax, num_groups,
                          noop);
}

}  // namespace kernels
