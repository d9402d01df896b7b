// Exclusive prefix sums over the groups of a grouped operand, in shared memory: where the tiles,
// scales or partial sums of each group start. Several tables are built with two barriers together.
// Every thread block builds its own, since only the device knows the row offsets.
#pragma once

#include "kernels/common/group_search.cuh"
#include "kernels/common/types.h"

namespace kernels {

/// One table: group g counts ceil_div(its rows, unit). Entries [0, num_groups].
struct SumTable {
  const std::int64_t* row_offsets = nullptr;
  int unit = 1;
  std::int32_t* sums = nullptr;  // shared memory, [num_groups + 1]
};

/// Shared-memory words that build_sum_tables() needs beside the tables: [kTables * 32].
/// All threads of the block call, and may read the tables afterwards. kThreads is the size of the
/// block; num_groups <= 1024.
template <int kThreads, int kTables>
__device__ __forceinline__ void build_sum_tables(const SumTable (&tables)[kTables], int used,
                                                 int num_groups, std::int32_t* warp_totals) {
  constexpr int kGroupsPerThread = 1024 / kThreads;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread & 31;
  const int first = thread * kGroupsPerThread;
  std::int32_t before[kTables];
#pragma unroll
  for (int t = 0; t < kTables; ++t) {
    if (t >= used) break;
    std::int32_t sum = 0;
    if (first < num_groups) {
      std::int64_t begin = tables[t].row_offsets[first];
#pragma unroll
      for (int i = 0; i < kGroupsPerThread; ++i) {
        if (first + i >= num_groups) break;
        const std::int64_t end = tables[t].row_offsets[first + i + 1];
        sum += static_cast<std::int32_t>((end - begin + tables[t].unit - 1) / tables[t].unit);
        begin = end;
      }
    }
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
    if (first < num_groups) {
      std::int64_t begin = tables[t].row_offsets[first];
      if (first == 0) tables[t].sums[0] = 0;
#pragma unroll
      for (int i = 0; i < kGroupsPerThread; ++i) {
        if (first + i >= num_groups) break;
        const std::int64_t end = tables[t].row_offsets[first + i + 1];
        before[t] += static_cast<std::int32_t>((end - begin + tables[t].unit - 1) / tables[t].unit);
        tables[t].sums[first + i + 1] = before[t];
        begin = end;
      }
    }
  }
  __syncthreads();
}

}  // namespace kernels
