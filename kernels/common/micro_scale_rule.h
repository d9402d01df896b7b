// The arithmetic of MXFP8 and NVFP4, the same on the host and on the device. Built without FMA
// contraction.
#pragma once

#include <cstdint>

#include "kernels/common/exact_float.h"

namespace kernels {

// MXFP8: a scale is E8M0, a byte that holds the exponent of a power of two, 2^(byte - 127).

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

// NVFP4: E2M1 codes, E4M3 block scales, a global scale, and the Hadamard transform of 16.

inline constexpr std::int64_t kNvBlock = 16;  // adjacent elements that share a scale

/// Signs s of the random Hadamard transform: bit i set = s_i is -1. It maps 16 elements x to y_j =
/// sum_i x_i * s_i * (-1)^popcount(i & j) / 4, evaluated as a Walsh-Hadamard transform in FP32:
/// signs first, then stages of distance 1, 2, 4, 8 (a + b to the lower index, a - b to the upper),
/// then * 0.25, then rounded to BF16 whatever the input type. Blocks are 16 consecutive rows of one
/// column; missing rows count as 0.
inline constexpr std::uint16_t kHadamardSigns = 0xD7E8;

struct Nvfp4GlobalScale {
  float encode_sixth;  // S_enc * (1/6): the multiplier of a block's amax
  float decode;        // 1 / S_enc
};

KERNELS_HOST_DEVICE inline Nvfp4GlobalScale nvfp4_global_scale(float amax) {
  float encode = 1.0F;
  if (amax > 0.0F && amax <= kLargestFloat) {
    encode = exact_divide(448.0F * 6.0F, amax);
    if (encode > kLargestFloat) encode = kLargestFloat;
  }
  return {exact_multiply(encode, 1.0F / 6.0F), exact_divide(1.0F, encode)};
}

/// The multiplier of a block's elements; `scale` is its E4M3 scale as FP32.
KERNELS_HOST_DEVICE inline float nvfp4_multiplier(float scale, const Nvfp4GlobalScale& global) {
  const float multiplier = exact_reciprocal(exact_multiply(scale, global.decode));
  return multiplier > kLargestFloat ? kLargestFloat : multiplier;
}

/// Nearest of 0, .5, 1, 1.5, 2, 3, 4, 6, ties to the even code; NaN to +6.
KERNELS_HOST_DEVICE inline std::uint32_t e2m1_encode(float value) {
  const std::uint32_t bits = float_to_bits(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return 7U;
  const std::uint32_t sign = bits >> 31 << 3;
  // 6 is the largest; 5 is the tie below it and rounds to 4, the even code.
  const std::uint32_t clamped = magnitude < 0x40C00000U ? magnitude : 0x40C00000U;
  if (clamped < 0x3F800000U) {
    // Below 1 the grid is 0.5 wide: 2^22 is where the FP32 adder rounds to halves.
    const float shifted = exact_add(bits_to_float(clamped), 4194304.0F);
    return sign | (float_to_bits(shifted) - 0x4A800000U);
  }
  const std::uint32_t odd = (clamped >> 22) & 1U;
  const std::uint32_t rounded = (clamped + 0x1FFFFFU + odd) >> 22;  // one mantissa bit left
  return sign | (rounded - 0xFCU);  // 127 - 1 exponents with two codes each
}

/// The same with `random` / 256 of a step added before truncation.
KERNELS_HOST_DEVICE inline std::uint32_t e2m1_encode_stochastic(float value, std::uint32_t random) {
  const std::uint32_t bits = float_to_bits(value);
  const float magnitude = bits_to_float(bits & 0x7FFFFFFFU);
  if (magnitude != magnitude) return 7U;
  const std::uint32_t sign = bits >> 31 << 3;
  const float step = magnitude < 2.0F ? 0.5F : magnitude < 4.0F ? 1.0F : 2.0F;
  const float jittered =
      exact_add(magnitude, exact_multiply(static_cast<float>(random) * (1.0F / 256.0F), step));
  if (jittered >= 6.0F) return sign | 7U;
  if (jittered >= 4.0F) return sign | 6U;
  if (jittered >= 3.0F) return sign | 5U;
  if (jittered >= 2.0F) return sign | 4U;
  return sign | static_cast<std::uint32_t>(exact_multiply(jittered, 2.0F));
}

/// The stages of the transform, in place: its own inverse but for a factor of 16.
KERNELS_HOST_DEVICE inline void walsh_hadamard_16(float (&x)[16]) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (int distance = 1; distance < 16; distance *= 2) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int i = 0; i < 16; ++i) {
      if ((i & distance) != 0) continue;
      const float a = x[i];
      const float b = x[i + distance];
      x[i] = exact_add(a, b);
      x[i + distance] = exact_add(a, -b);
    }
  }
}

/// Transforms 16 values in place, see kHadamardSigns; they are not yet rounded to BF16.
KERNELS_HOST_DEVICE inline void hadamard_16(float (&x)[16]) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (int i = 0; i < 16; ++i) {
    if ((kHadamardSigns >> i & 1) != 0) x[i] = -x[i];
  }
  walsh_hadamard_16(x);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
  for (int i = 0; i < 16; ++i) x[i] = exact_multiply(x[i], 0.25F);
}

}  // namespace kernels
