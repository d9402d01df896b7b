// Exclusive prefix sums over the groups of a grouped operand, in shared memory: where the tiles,
// scales or partial sums of each group start. Several are built together with two barriers. Every
// thread block builds its own, since only the device knows the row offsets.
#pragma once

#include "kernels/common/group_search.cuh"
#include "kernels/common/types.h"

namespace kernels {

/// Fills sums[t][g] = sum over groups j < g of count(t, j), for t < used and g <= num_groups, in
/// shared memory. All threads of the block call, and may read the tables afterwards. kBlockThreads
/// is the size of the block; num_groups <= 1024; warp_totals holds kTables * 32 words of shared
/// memory. count is called twice for each group.
template <int kBlockThreads, int kTables, class Count>
__device__ __forceinline__ void build_sum_tables(std::int32_t* const (&sums)[kTables], int used,
                                                 int num_groups, std::int32_t* warp_totals,
                                                 Count count) {
  constexpr int kGroupsPerThread = (1024 + kBlockThreads - 1) / kBlockThreads;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread & 31;
  const int first = thread * kGroupsPerThread;
  const int last = min(first + kGroupsPerThread, num_groups);
  std::int32_t before[kTables];
#pragma unroll
  for (int t = 0; t < kTables; ++t) {
    if (t >= used) break;
    std::int32_t sum = 0;
    for (int group = first; group < last; ++group) sum += count(t, group);
    std::int32_t inclusive = sum;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const std::int32_t below = __shfl_up_sync(kFullWarp, inclusive, distance);
      if (lane >= distance) inclusive += below;
    }
    if (lane == 31) warp_totals[t * 32 + thread / 32] = inclusive;
    before[t] = inclusive - sum;
  }
  __syncthreads();
#pragma unroll
  for (int t = 0; t < kTables; ++t) {
    if (t >= used) break;
    for (int warp = 0; warp < thread / 32; ++warp) before[t] += warp_totals[t * 32 + warp];
    if (first == 0) sums[t][0] = 0;
    for (int group = first; group < last; ++group) {
      before[t] += count(t, group);
      sums[t][group + 1] = before[t];
    }
  }
  __syncthreads();
}

}  // namespace kernels
