// Which group owns a position, found by a whole warp: each lane probes one boundary, so 1024
// groups take two probes instead of ten dependent ones.
#pragma once

#include <cstdint>

#include "kernels/common/input_vectors.cuh"

namespace kernels {

inline constexpr unsigned kFullWarp = 0xFFFFFFFFU;

/// The last group whose boundaries[group] * unit <= position, counting from the back of equal
/// boundaries: empty groups are skipped. boundaries[num_groups + 1] is ascending;
/// position < boundaries[num_groups] * unit. All 32 lanes must call with the same arguments.
template <typename Boundary>
__device__ __forceinline__ int warp_find_group(const Boundary* boundaries, int num_groups,
                                               std::int64_t position, std::int64_t unit = 1) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  int group = 0;  // the answer is in [group, group + candidates)
  int candidates = num_groups;
  while (candidates > 1) {
    const int stride = (candidates + 31) / 32;
    const int probe = group + (lane + 1) * stride;
    const bool passed =
        probe < group + candidates && std::int64_t{boundaries[probe]} * unit <= position;
    const int strides = __popc(__ballot_sync(kFullWarp, passed));
    group += strides * stride;
    candidates = min(stride, candidates - strides * stride);
  }
  return group;
}

// Splits the active elements evenly over all warps of a grid and cuts each share at group
// boundaries: for kernels that need the group but not the row. Any grid size works, so it can be
// chosen from the capacity alone.

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
