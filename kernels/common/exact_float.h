// FP32 arithmetic with the same bits on the host and on the device. The intrinsics keep the
// compiler from fusing what is not written as fused; on the host kernels_cpu is built with
// -ffp-contract=off.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/common/types.h"  // KERNELS_HOST_DEVICE

namespace kernels {

inline constexpr float kLargestFloat = 3.402823466e38F;

#ifdef __CUDA_ARCH__
__device__ inline float exact_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ inline float exact_multiply(float a, float b) { return __fmul_rn(a, b); }
__device__ inline float exact_add(float a, float b) { return __fadd_rn(a, b); }
__device__ inline float exact_divide(float a, float b) { return __fdiv_rn(a, b); }
__device__ inline float exact_reciprocal(float a) { return __frcp_rn(a); }
__device__ inline float bits_to_float(std::uint32_t bits) { return __uint_as_float(bits); }
__device__ inline std::uint32_t float_to_bits(float value) { return __float_as_uint(value); }
#else
inline float exact_fma(float a, float b, float c) { return std::fma(a, b, c); }
inline float exact_multiply(float a, float b) { return a * b; }
inline float exact_add(float a, float b) { return a + b; }
inline float exact_divide(float a, float b) { return a / b; }
inline float exact_reciprocal(float a) { return 1.0F / a; }
inline float bits_to_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline std::uint32_t float_to_bits(float value) { return std::bit_cast<std::uint32_t>(value); }
#endif

/// Clears the mantissa: of a positive normal number, the largest power of two not above it.
KERNELS_HOST_DEVICE inline float round_down_to_power_of_two(float value) {
  return bits_to_float(float_to_bits(value) & 0xFF800000U);
}

}  // namespace kernels
