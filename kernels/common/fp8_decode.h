// Values of all 256 codes of an FP8 format, computed at compile time from the format's definition.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "kernels/common/formats.h"

namespace kernels {

using Fp8Values = std::array<float, 256>;

constexpr Fp8Values make_fp8_values(Fp8Format format) {
  const int mantissa_bits = format == Fp8Format::E4m3 ? 3 : 2;
  const int bias = format == Fp8Format::E4m3 ? 7 : 15;
  Fp8Values values{};
  for (int code = 0; code < 256; ++code) {
    const int magnitude = code & 0x7F;
    const int exponent = magnitude >> mantissa_bits;
    const int mantissa = magnitude & ((1 << mantissa_bits) - 1);
    // A subnormal has the exponent of the smallest normal and no hidden bit.
    float value = static_cast<float>(exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits));
    for (int power = (exponent == 0 ? 1 : exponent) - bias - mantissa_bits; power != 0;) {
      value = power > 0 ? value * 2.0F : value * 0.5F;
      power += power > 0 ? -1 : 1;
    }
    // E4M3 gives up infinities for one more binade: only the all-ones code is NaN.
    if (format == Fp8Format::E4m3 && magnitude == 0x7F) {
      value = std::numeric_limits<float>::quiet_NaN();
    } else if (format == Fp8Format::E5m2 && magnitude >= 0x7C) {
      value = mantissa == 0 ? std::numeric_limits<float>::infinity()
                            : std::numeric_limits<float>::quiet_NaN();
    }
    values[static_cast<std::size_t>(code)] = (code & 0x80) != 0 ? -value : value;
  }
  return values;
}

inline constexpr Fp8Values kE4m3Values = make_fp8_values(Fp8Format::E4m3);
inline constexpr Fp8Values kE5m2Values = make_fp8_values(Fp8Format::E5m2);

constexpr const Fp8Values& fp8_values(Fp8Format format) {
  return format == Fp8Format::E4m3 ? kE4m3Values : kE5m2Values;
}

}  // namespace kernels
