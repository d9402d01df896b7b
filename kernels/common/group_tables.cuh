// Exclusive prefix sums over the groups of a grouped operand: where the tiles, scales or partial
// sums of each group start. Every thread block builds its own in shared memory, since only the
// device knows the row offsets.
#pragma once

#include "kernels/common/group_search.cuh"
#include "kernels/common/types.h"

namespace kernels {

/// sums[g / kEvery] = sum over groups j < g of count(rows of j), for every g <= num_groups that is
/// a multiple of kEvery (1 or 32). One warp calls, so that several tables are built in parallel
/// without a barrier; other warps need one before they read.
template <int kEvery, class Count>
__device__ __forceinline__ void warp_sum_table(std::int32_t* sums, const std::int64_t* row_offsets,
                                               int num_groups, Count count) {
  constexpr int kPerLane = 4;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  if (lane == 0) sums[0] = 0;
  std::int32_t before = 0;
  for (int first = 0; first < num_groups; first += 32 * kPerLane) {
    std::int64_t offsets[kPerLane + 1];
    const int mine = first + lane * kPerLane;
#pragma unroll
    for (int i = 0; i <= kPerLane; ++i) offsets[i] = row_offsets[min(mine + i, num_groups)];
    std::int32_t ends[kPerLane];  // summed up to each of this lane's groups
    std::int32_t sum = 0;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      sum += count(static_cast<int>(offsets[i + 1] - offsets[i]));
      ends[i] = sum;
    }
    std::int32_t inclusive = sum;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const std::int32_t below = __shfl_up_sync(kFullWarp, inclusive, distance);
      if (lane >= distance) inclusive += below;
    }
    if constexpr (kEvery == 1) {
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) {
        if (mine + i < num_groups) sums[mine + i + 1] = before + inclusive - sum + ends[i];
      }
    } else {
      static_assert(kEvery == 32 && kEvery % kPerLane == 0);
      const int end = mine + kPerLane;
      if (end % kEvery == 0 && end <= num_groups) sums[end / kEvery] = before + inclusive;
    }
    before += __shfl_sync(kFullWarp, inclusive, 31);
  }
}

// Prefix sum of the strips of every group, in shared memory. A strip is a fixed number of rows
// of one group, or the remainder: the unit of work that never straddles groups. Every thread block
// builds its own table, since only the device knows the row offsets.

inline constexpr int kMaxGroups = 1024;

/// The totals come first and aligned: behind first_strip, the compiler reads them 16 bytes at a
/// time together with its last entry, which another warp may be writing (harmless, but racecheck
/// reports it as a hazard).
struct StripTable {
  alignas(16) std::int32_t warp_totals[32];
  std::int32_t first_strip[kMaxGroups + 1];
};

/// Fills the table; every thread of the block must call, and may read the table afterwards.
/// kThreads is the size of the block, a multiple of 32.
template <int kThreads, int kRowsPerStrip>
__device__ __forceinline__ void build_strip_table(const std::int64_t* row_offsets, int num_groups,
                                                  StripTable& table) {
  constexpr int kGroupsPerThread = kMaxGroups / kThreads;
  static_assert(kMaxGroups % kThreads == 0);
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread & 31;
  const int first = thread * kGroupsPerThread;
  std::int32_t ends[kGroupsPerThread];  // strips of this thread's groups, summed up to each
  std::int32_t sum = 0;
#pragma unroll
  for (int i = 0; i < kGroupsPerThread; ++i) {
    if (first + i < num_groups) {
      const std::int64_t rows = row_offsets[first + i + 1] - row_offsets[first + i];
      sum += static_cast<std::int32_t>(ceil_div(rows, kRowsPerStrip));
    }
    ends[i] = sum;
  }
  std::int32_t inclusive = sum;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const std::int32_t below = __shfl_up_sync(kFullWarp, inclusive, distance);
    if (lane >= distance) inclusive += below;
  }
  if (lane == 31) table.warp_totals[thread / 32] = inclusive;
  __syncthreads();
  std::int32_t before = inclusive - sum;
  for (int warp = 0; warp < thread / 32; ++warp) before += table.warp_totals[warp];
  if (thread == 0) table.first_strip[0] = 0;
#pragma unroll
  for (int i = 0; i < kGroupsPerThread; ++i) {
    if (first + i < num_groups) table.first_strip[first + i + 1] = before + ends[i];
  }
  __syncthreads();
}

}  // namespace kernels
