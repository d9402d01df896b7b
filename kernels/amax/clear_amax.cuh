// Clears maxima before a kernel raises them, unless they are to stay.
#pragma once

#include "kernels/common/launch.cuh"

namespace kernels {

static __global__ void clear_amax_kernel(float* amax, int num_groups, const float* noop) {
  const int group = static_cast<int>(threadIdx.x);
  if (group < num_groups && *noop != 1.0F) amax[group] = 0.0F;
}

inline void clear_amax(float* amax, int num_groups, const float* noop, cudaStream_t stream) {
  clear_amax_kernel<<<1, kMaxGroups, 0, stream>>>(amax, num_groups, noop);
}

}  // namespace kernels
