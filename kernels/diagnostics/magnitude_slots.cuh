// A histogram of magnitudes in shared memory, for thread blocks of kWalkThreads.
#pragma once

#include "kernels/diagnostics/group_walk.cuh"
#include "kernels/diagnostics/statistics.h"

namespace kernels {

inline constexpr std::uint32_t kInfinityBits = 0x7F800000U;
inline constexpr int kZeroSlot = kMagnitudeBins;
inline constexpr int kInfinitySlot = kMagnitudeBins + 1;
inline constexpr int kNanSlot = kMagnitudeBins + 2;
inline constexpr int kSlots = kMagnitudeBins + 3;
// Even and odd lanes count separately: values of one tensor crowd into a dozen bins, and the odd
// number of slots puts the two copies of a bin into different banks.
inline constexpr int kCopies = 2;

/// [copy][slot]; a shared variable.
using MagnitudeSlots = std::uint32_t[kCopies][kSlots];

__device__ inline int magnitude_slot(float value) {
  const std::uint32_t magnitude = __float_as_uint(value) & 0x7FFFFFFFU;
  if (magnitude == 0) return kZeroSlot;
  if (magnitude < kInfinityBits) return static_cast<int>(magnitude >> 21);
  return magnitude == kInfinityBits ? kInfinitySlot : kNanSlot;
}

__device__ inline void add_slot(MagnitudeCounts* counts, int slot, std::uint32_t count) {
  std::uint64_t* target = slot < kMagnitudeBins   ? &counts->bins[slot]
                          : slot == kZeroSlot     ? &counts->zeros
                          : slot == kInfinitySlot ? &counts->infinities
                                                  : &counts->nans;
  atomicAdd(reinterpret_cast<unsigned long long*>(target), count);
}

/// The next three are called by all threads; a barrier goes between them.
__device__ inline void clear_slots(MagnitudeSlots& slots) {
  for (int i = static_cast<int>(threadIdx.x); i < kCopies * kSlots; i += kWalkThreads) {
    (&slots[0][0])[i] = 0;
  }
}

__device__ inline void count_magnitude(MagnitudeSlots& slots, float value) {
  atomicAdd(&slots[threadIdx.x % kCopies][magnitude_slot(value)], 1U);
}

__device__ inline void add_slots(const MagnitudeSlots& slots, MagnitudeCounts* counts) {
  for (int slot = static_cast<int>(threadIdx.x); slot < kSlots; slot += kWalkThreads) {
    std::uint32_t sum = 0;
    for (int copy = 0; copy < kCopies; ++copy) sum += slots[copy][slot];
    if (sum != 0) add_slot(counts, slot, sum);
  }
}

}  // namespace kernels
