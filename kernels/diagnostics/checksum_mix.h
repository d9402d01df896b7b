// The term that one element adds to its group's checksum. Shared by the twin and the kernel.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define KERNELS_MIX_HOST_DEVICE __host__ __device__
#else
#define KERNELS_MIX_HOST_DEVICE
#endif

namespace kernels {

/// A bijection of (index, value), for indices below 2^48, that spreads a change of any bit over
/// all 64 (the finalizer of SplitMix64): moved or swapped elements change the sum too.
KERNELS_MIX_HOST_DEVICE constexpr std::uint64_t checksum_term(std::uint64_t index,
                                                              std::uint16_t value) {
  std::uint64_t mixed = ((index << 16) | value) + 0x9E3779B97F4A7C15ULL;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
  return mixed ^ (mixed >> 31);
}

}  // namespace kernels
