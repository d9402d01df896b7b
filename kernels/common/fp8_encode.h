// FP32 to FP8: round to nearest even, saturate to the largest finite value, NaN to 0x7F.
// Free of branches and of table look-ups, so that the compiler vectorises a loop over it.
// The `.cuh` counterpart is the hardware's own conversion; a GPU test checks that both agree.
#pragma once

#include <bit>
#include <cstdint>

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

}  // namespace kernels
