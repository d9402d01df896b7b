// Codes and scales of operands of a product, for the CPU and the GPU tests.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/common/fp8_codes.h"

namespace product_tests {

using kernels::Fp8Format;

struct Operand {
  std::vector<std::uint8_t> codes;
  std::vector<float> scales;
};

/// What the codes and scales are.
enum class Values {
  Exact,   // small integers and powers of two: every sum is exact in FP32, in any order
  Random,  // any finite code, any scale around 1
  Wild,    // also NaN codes, and scales of 0, infinity and NaN
};

inline std::uint8_t code(Values fill, Fp8Format format, std::mt19937& random) {
  if (fill == Values::Exact) {
    const float value = static_cast<float>(static_cast<int>(random() % 7) - 3);
    return format == Fp8Format::E4m3 ? kernels::fp8_encode<Fp8Format::E4m3>(value)
                                     : kernels::fp8_encode<Fp8Format::E5m2>(value);
  }
  if (fill == Values::Wild && random() % 4096 == 0) return 0x7F;
  // The magnitudes below half of the largest exponent: sums stay far from overflow.
  return static_cast<std::uint8_t>(random() % 0x58 | (random() % 2) << 7);
}

inline float scale(Values fill, std::mt19937& random) {
  if (fill == Values::Exact) return static_cast<float>(1 << random() % 4) / 4.0F;
  if (fill == Values::Wild && random() % 64 == 0) {
    constexpr float kOdd[] = {0.0F, std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN(), 1e-40F};
    return kOdd[random() % 4];
  }
  return 0.5F + static_cast<float>(random() % 1000) / 1000.0F;
}

}  // namespace product_tests
