// The copy engine: boxes of tensors to and from shared memory.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/common/stage_barrier.cuh"

namespace kernels::products {

/// The box of a matrix at (column, row) to `target`; `arrived` is told how many bytes landed.
__device__ __forceinline__ void load_box(std::uint32_t target, const CUtensorMap& map,
                                         StageBarrier& arrived, int column, int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4}], [%2];" ::"r"(target),
      "l"(&map), "r"(arrived.address()), "r"(column), "r"(row)
      : "memory");
}

/// The same into every block of the cluster, at the same address, with the same barrier of each.
template <int kBlocks>
__device__ __forceinline__ void load_box_for_all(std::uint32_t target, const CUtensorMap& map,
                                                 StageBarrier& arrived, int column, int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes."
      "multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(target),
      "l"(&map), "r"(arrived.address()), "r"(column), "r"(row),
      "h"(static_cast<std::uint16_t>((1 << kBlocks) - 1))
      : "memory");
}

/// `bytes` (a multiple of 16) that lie one after another, 16-byte aligned on both sides.
__device__ __forceinline__ void load_bytes(std::uint32_t target, const void* source,
                                           std::uint32_t bytes, StageBarrier& arrived) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(target),
      "l"(source), "r"(bytes), "r"(arrived.address())
      : "memory");
}

/// Writes of this thread to shared memory become visible to the copy engine and the tensor cores.
__device__ __forceinline__ void publish_to_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// A box from `source` to (column, row) of matrix `group`; what is outside of it is not written.
__device__ __forceinline__ void store_box(const CUtensorMap& map, std::uint32_t source, int column,
                                          int row, int group) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
      "r"(source), "r"(column), "r"(row), "r"(group)
      : "memory");
}

/// The same, added to what is there.
__device__ __forceinline__ void add_box(const CUtensorMap& map, std::uint32_t source, int column,
                                        int row, int group) {
  asm volatile(
      "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.bulk_group [%0, {%2, %3, %4}], "
      "[%1];" ::"l"(&map),
      "r"(source), "r"(column), "r"(row), "r"(group)
      : "memory");
}

/// Ends the group of this thread's stores since the last call.
__device__ __forceinline__ void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Waits until at most kGroups of this thread's groups still read shared memory.
template <int kGroups>
__device__ __forceinline__ void wait_until_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kGroups) : "memory");
}
/// Waits until all of this thread's stores have ended.
__device__ __forceinline__ void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

}  // namespace kernels::products
