// E8M0 scales of MXFP8: a byte holds the exponent of a power of two, 2^(byte - 127).
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/common/formats.h"
#include "kernels/common/scale_rule.h"  // KERNELS_HOST_DEVICE

namespace kernels {

/// 1 / format_max rounded to FP32: the rule multiplies, it does not divide.
constexpr std::uint32_t mx_reciprocal_bits(Fp8Format format) {
  return format == Fp8Format::E4m3 ? 0x3B124925U : 0x37924925U;
}

/// The FP32 bits of a non-negative value rounded up to a power of two, as its exponent. NaN 0xFF,
/// inf 0xFE. Values up to 2^-127 give 0.
KERNELS_HOST_DEVICE constexpr std::uint8_t e8m0_round_up(std::uint32_t bits) {
  if (bits > 0x7F800000U) return 0xFF;
  if (bits == 0x7F800000U) return 0xFE;
  const std::uint32_t exponent = bits >> 23;
  const std::uint32_t mantissa = bits & 0x7FFFFFU;
  if (exponent == 0 && mantissa <= 0x400000U) return 0;
  return static_cast<std::uint8_t>(exponent + (mantissa != 0 && exponent != 0xFE ? 1 : 0));
}

/// Bits of 2^(127 - byte), the multiplier of elements: 2^-127 for 254, NaN for 255.
KERNELS_HOST_DEVICE constexpr std::uint32_t mx_multiplier_bits(std::uint8_t byte) {
  if (byte == 0xFF) return 0x7FC00000U;
  if (byte == 0xFE) return 0x00400000U;
  return (254U - byte) << 23;
}

/// Bits of 2^(byte - 127), the multiplier of codes.
KERNELS_HOST_DEVICE constexpr std::uint32_t mx_decode_bits(std::uint8_t byte) {
  if (byte == 0xFF) return 0x7FC00000U;
  if (byte == 0) return 0x00400000U;
  return static_cast<std::uint32_t>(byte) << 23;
}

}  // namespace kernels
