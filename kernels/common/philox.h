// Philox4x32-10, the counter-based generator for stochastic rounding: the same words for the same
// counter and key everywhere. Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3".
#pragma once

#include <cstdint>

#include "kernels/common/types.h"  // KERNELS_HOST_DEVICE

namespace kernels {

struct PhiloxWords {
  std::uint32_t words[4];
};

KERNELS_HOST_DEVICE inline PhiloxWords philox4x32(std::uint64_t low, std::uint64_t high,
                                                  std::uint64_t key) {
  std::uint32_t c[4] = {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                        static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)};
  std::uint32_t k0 = static_cast<std::uint32_t>(key);
  std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53U} * c[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * c[2];
    const std::uint32_t c1 = c[1];
    const std::uint32_t c3 = c[3];
    c[0] = static_cast<std::uint32_t>(b >> 32) ^ c1 ^ k0;
    c[1] = static_cast<std::uint32_t>(b);
    c[2] = static_cast<std::uint32_t>(a >> 32) ^ c3 ^ k1;
    c[3] = static_cast<std::uint32_t>(a);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {{c[0], c[1], c[2], c[3]}};
}

/// For which block of 16 gets which words see quantize_nvfp4.h.
inline constexpr std::uint64_t kColumnwiseBlockBit = std::uint64_t{1} << 63;

}  // namespace kernels
