// FP8 codes on the host: FP32 to a code, and the values of all codes.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "kernels/common/formats.h"

namespace kernels {

/// Bit layout of a format, as the encoder needs it.
template <Fp8Format kFormat>
struct Fp8Layout;

template <>
struct Fp8Layout<Fp8Format::E4m3> {
  static constexpr int kMantissaBits = 3;
  static constexpr int kBias = 7;
};

template <>
struct Fp8Layout<Fp8Format::E5m2> {
  static constexpr int kMantissaBits = 2;
  static constexpr int kBias = 15;
};

/// FP32 to FP8: round to nearest even, saturate to the largest finite value, NaN to 0x7F. Free of
/// branches and of table look-ups, so that the compiler vectorises a loop over it. Its `.cuh`
/// counterpart is the hardware's own conversion; a GPU test checks that both agree.
template <Fp8Format kFormat>
[[gnu::always_inline]] inline std::uint8_t fp8_encode(float value) {
  using Layout = Fp8Layout<kFormat>;
  constexpr int kDropped = 23 - Layout::kMantissaBits;
  constexpr std::uint32_t kInfinity = 0x7F800000U;
  constexpr auto kMax = std::bit_cast<std::uint32_t>(fp8_max(kFormat));
  constexpr std::uint32_t kFirstNormal = std::uint32_t{127 - Layout::kBias + 1} << 23;
  // FP32's and FP8's exponents differ by a constant, here aligned with FP8's mantissa.
  constexpr std::uint32_t kRebias = std::uint32_t{127 - Layout::kBias} << Layout::kMantissaBits;
  // One unit in the last place of this number is FP8's smallest subnormal: adding it makes the
  // FP32 adder round to that grid, and leaves the code in the low bits.
  constexpr std::uint32_t kGrid =
      std::uint32_t{127 + 23 - (Layout::kBias - 1 + Layout::kMantissaBits)} << 23;

  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const std::uint32_t clamped = magnitude < kMax ? magnitude : kMax;
  const std::uint32_t odd = (clamped >> kDropped) & 1U;
  const std::uint32_t normal =
      ((clamped + ((1U << (kDropped - 1)) - 1U) + odd) >> kDropped) - kRebias;
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(clamped) + std::bit_cast<float>(kGrid)) -
      kGrid;
  const std::uint32_t code = (clamped < kFirstNormal ? subnormal : normal) | ((bits >> 24) & 0x80U);
  return static_cast<std::uint8_t>(magnitude > kInfinity ? 0x7FU : code);
}

/// Values of all 256 codes of an FP8 format, computed at compile time from the format's definition.
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
