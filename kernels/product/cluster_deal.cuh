// Which units of work a cluster of a persistent grid takes.
#pragma once

#include <cstdint>

#include "kernels/common/group_search.cuh"
#include "kernels/common/stage_barrier.cuh"
#include "kernels/product/stage_ring.cuh"

namespace kernels::products {

/// In shared memory: the numbers that the first block of a cluster sends to the other one. There
/// are more slots than tiles that the first block's loads can be ahead of the other's, which the
/// stages limit, so no number is overwritten before it was read.
struct ClusterTickets {
  static constexpr int kSlots = 8;
  std::uint32_t numbers[kSlots];
  StageBarrier sent[kSlots];

  /// One thread calls, before the blocks of the cluster meet.
  __device__ __forceinline__ void init() {
    for (StageBarrier& barrier : sent) barrier.init(1);
  }
};

/// Deals units to this thread's cluster: round-robin, or, with tickets in global memory, whichever
/// is next when it asks. The warp that loads calls, as a whole, in both blocks of the cluster.
template <int kCluster>
class ClusterDeal {
  static_assert(kCluster == 2);

 public:
  __device__ __forceinline__ ClusterDeal(std::uint32_t* tickets, ClusterTickets& sent)
      : tickets_(tickets),
        sent_(sent),
        lane_(static_cast<int>(threadIdx.x) % 32),
        clusters_(static_cast<int>(gridDim.x) / kCluster) {}

  /// The next unit, the same in both blocks; a number behind the last unit if there are no more.
  __device__ __forceinline__ int take() {
    if (taken_ < 0) {
      taken_ = static_cast<int>(blockIdx.x) / kCluster;
    } else if (tickets_ == nullptr) {
      taken_ += clusters_;
    } else {
      const int slot = place_.stage;
      std::uint32_t number = 0;
      if (first_block()) {
        if (lane_ == 0) {
          number = static_cast<std::uint32_t>(clusters_) + atomicAdd(tickets_, 1U);
          send(slot, number);
        }
        number = __shfl_sync(kFullWarp, number, 0);
      } else {
        if (lane_ == 0) sent_.sent[slot].arrive_and_expect(sizeof(number));
        sent_.sent[slot].wait_in_cluster(place_.parity);
        number = *static_cast<volatile std::uint32_t*>(&sent_.numbers[slot]);
      }
      place_.advance();
      taken_ = static_cast<int>(number);
    }
    return taken_;
  }

  /// After the last call of take(). The last cluster to get here resets the tickets.
  __device__ __forceinline__ void finish() const {
    if (tickets_ == nullptr || !first_block() || lane_ != 0) return;
    const auto last = static_cast<std::uint32_t>(clusters_) - 1;
    if (atomicInc(tickets_ + 1, last) == last) *tickets_ = 0;
  }

 private:
  __device__ __forceinline__ bool first_block() const {
    return static_cast<int>(blockIdx.x) % kCluster == 0;
  }

  __device__ __forceinline__ void send(int slot, std::uint32_t number) const {
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(
            in_block(shared_address(&sent_.numbers[slot]), 1)),
        "r"(number), "r"(in_block(sent_.sent[slot].address(), 1))
        : "memory");
  }

  std::uint32_t* tickets_;
  ClusterTickets& sent_;
  int lane_;
  int clusters_;
  int taken_ = -1;
  RingPlace<ClusterTickets::kSlots> place_;
};

}  // namespace kernels::products
