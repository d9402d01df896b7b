// Prefix sums over groups that differ in both dimensions: of any function of the group.
#pragma once

#include "kernels/common/group_search.cuh"

namespace kernels {

/// sums[g] = count of the groups before g. One warp calls; others need a barrier before they read.
template <class Count>
__device__ __forceinline__ void warp_sum_groups(std::int32_t* sums, int num_groups, Count count) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  if (lane == 0) sums[0] = 0;
  std::int32_t before = 0;
  for (int first = 0; first < num_groups; first += 32) {
    const int group = first + lane;
    std::int32_t sum = group < num_groups ? count(group) : 0;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const std::int32_t below = __shfl_up_sync(kFullWarp, sum, distance);
      if (lane >= distance) sum += below;
    }
    if (group < num_groups) sums[group + 1] = before + sum;
    before += __shfl_sync(kFullWarp, sum, 31);
  }
}

}  // namespace kernels
