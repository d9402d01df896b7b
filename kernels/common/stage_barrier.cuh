// Barriers in shared memory between the warp that loads tiles and the warps that consume them:
// "full" when a stage holds a tile, "empty" when it may be refilled. Waits use phase parity.
#pragma once

#include <cstdint>

namespace kernels {

/// An address as instructions on shared memory take it.
__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

struct StageBarrier {
  std::uint64_t state;

  __device__ __forceinline__ std::uint32_t address() const { return shared_address(&state); }
  /// One thread calls; a __syncthreads() makes it visible to the others.
  __device__ __forceinline__ void init(int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(arrivals) : "memory");
  }
  /// This thread's earlier writes are visible to every thread that waits.
  __device__ __forceinline__ void arrive() {
    asm volatile("{ .reg .b64 token; mbarrier.arrive.shared.b64 token, [%0]; }" ::"r"(address())
                 : "memory");
  }
  /// Arrives when all cp.async copies that this thread started have landed.
  __device__ __forceinline__ void arrive_after_copies() {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address()) : "memory");
  }
  /// Arrives, and makes the phase last until the copy engine has written this many bytes.
  __device__ __forceinline__ void arrive_and_expect(std::uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes)
                 : "memory");
  }
  __device__ __forceinline__ void wait(std::uint32_t parity) {
    asm volatile(
        "{ .reg .pred done;\n"
        "again%=: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
        "@!done bra again%=; }" ::"r"(address()),
        "r"(parity)
        : "memory");
  }
  /// The same; what other blocks of the cluster wrote before they arrived is visible afterwards.
  __device__ __forceinline__ void wait_in_cluster(std::uint32_t parity) {
    asm volatile(
        "{ .reg .pred done;\n"
        "again%=: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again%=; }" ::"r"(address()),
        "r"(parity)
        : "memory");
  }
};

}  // namespace kernels
