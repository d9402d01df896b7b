// Host view of one input element: its exact FP32 value, and its magnitude as an integer.
// Magnitudes of one type order like their bits, so a maximum needs no conversion to FP32.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/common/formats.h"

namespace kernels {

template <InputType kType>
struct InputElement;

template <>
struct InputElement<InputType::Bf16> {
  using Bits = std::uint16_t;
  static constexpr Bits kMagnitudeMask = 0x7FFF;
  static constexpr Bits kInfinity = 0x7F80;
  [[gnu::always_inline]] static float value(Bits bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  }
};

template <>
struct InputElement<InputType::Fp16> {
  using Bits = std::uint16_t;
  static constexpr Bits kMagnitudeMask = 0x7FFF;
  static constexpr Bits kInfinity = 0x7C00;
  [[gnu::always_inline]] static float value(Bits bits) {
    const std::uint32_t magnitude = bits & 0x7FFFU;
    // Read with FP32's exponent bias the value is 2^112 too small; the product is exact, including
    // for subnormals. Infinity and NaN keep their mantissa under FP32's largest exponent.
    const float finite = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
    const std::uint32_t special = magnitude >= kInfinity ? 0x7F800000U : 0U;
    const std::uint32_t sign = (bits & 0x8000U) << 16;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(finite) | special | sign);
  }
};

template <>
struct InputElement<InputType::Fp32> {
  using Bits = std::uint32_t;
  static constexpr Bits kMagnitudeMask = 0x7FFFFFFF;
  static constexpr Bits kInfinity = 0x7F800000;
  [[gnu::always_inline]] static float value(Bits bits) { return std::bit_cast<float>(bits); }
};

}  // namespace kernels
