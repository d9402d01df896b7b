// What the compiler has to know of a warp's lanes: the copy engine's instructions take uniform
// registers only, and where it cannot tell that a value is uniform, or that one lane runs, it makes
// a loop over the lanes of each of them.
#pragma once

#include <cstdint>

#include "kernels/common/group_search.cuh"

namespace kernels::products {

/// True for one lane of a warp that calls as a whole. The compiler knows that it is one.
__device__ __forceinline__ bool elected() {
  std::uint32_t mine = 0;
  asm volatile("{ .reg .pred one;\nelect.sync _|one, 0xFFFFFFFF;\nselp.u32 %0, 1, 0, one; }"
               : "=r"(mine));
  return mine != 0;
}

/// The same value for all lanes.
template <class Value>
__device__ __forceinline__ Value uniform(Value value) {
  return __shfl_sync(kFullWarp, value, 0);
}

}  // namespace kernels::products
