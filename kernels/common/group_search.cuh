// Which group owns a position, found by a whole warp: each lane probes one boundary, so 1024
// groups take two probes instead of ten dependent ones.
#pragma once

#include <cstdint>

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

}  // namespace kernels
