// Splits the active elements evenly over all warps of a grid and cuts each share at group
// boundaries: for kernels that need the group but not the row. Any grid size works, so it can be
// chosen from the capacity alone.
#pragma once

#include "kernels/common/group_search.cuh"
#include "kernels/common/input_vectors.cuh"

namespace kernels {

/// Calls body(group, begin, end), in steps of kStep elements, for every run of this warp. A run
/// lies in one group. The whole warp must call; body runs converged.
template <typename Body>
__device__ __forceinline__ void for_each_group_run(const GroupedInput& input, Body body) {
  const std::int64_t steps_per_row = input.columns / kStep;
  const std::int64_t active = input.row_offsets[input.num_groups] * steps_per_row;
  const std::int64_t warps = std::int64_t{gridDim.x} * (blockDim.x / 32);
  const std::int64_t warp =
      std::int64_t{blockIdx.x} * (blockDim.x / 32) + static_cast<int>(threadIdx.x / 32);
  // Multiples of what a warp moves at once, so that shares start aligned.
  const std::int64_t share = round_up(ceil_div(active, warps), 32);
  std::int64_t begin = warp * share;
  const std::int64_t share_end = min(active, begin + share);
  while (begin < share_end) {
    const int group = warp_find_group(input.row_offsets, input.num_groups, begin, steps_per_row);
    const std::int64_t end = min(share_end, input.row_offsets[group + 1] * steps_per_row);
    body(group, begin, end);
    begin = end;
  }
}

}  // namespace kernels
