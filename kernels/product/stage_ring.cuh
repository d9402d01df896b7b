// A thread's position in a ring of stages in shared memory, and meeting the cluster's other block.
#pragma once

#include <cstdint>

namespace kernels::products {

template <int kStages>
struct RingPlace {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// Address of `local`, an address in this block's shared memory, in that of block `block` of the
/// cluster.
__device__ __forceinline__ std::uint32_t in_block(std::uint32_t local, int block) {
  std::uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(local), "r"(block));
  return there;
}

/// Arrives at a barrier of any block of the cluster.
__device__ __forceinline__ void arrive_in_cluster(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// All threads of all blocks call: nobody goes on before everybody has come.
__device__ __forceinline__ void meet_cluster() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

}  // namespace kernels::products
