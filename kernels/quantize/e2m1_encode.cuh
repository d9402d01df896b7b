// Eight E2M1 codes at a time. Hopper has no conversion to E2M1, and its FP32 pipe issues twice as
// many instructions per cycle as the pipe for comparisons, so the rounding uses only
// additions and multiplications.
#pragma once

#include <cuda_fp8.h>

#include <cstdint>

namespace kernels {

/// e2m1_encode() in a few instructions: adding a number whose ulp is the step of the value's range
/// rounds to that step and leaves the code in the lowest bits. NaN products are positive here.
__device__ __forceinline__ std::uint32_t e2m1_code(float product) {
  const float magnitude = fminf(fabsf(product), 6.0F);
  float anchor = magnitude >= 2.0F ? 8388610.0F : 4194304.0F;  // 2^23 + 2 * 1, 2^22
  anchor = magnitude >= 4.0F ? 16777224.0F : anchor;           // 2^24 + 4 * 2
  const std::uint32_t rounded = __float_as_uint(__fadd_rn(magnitude, anchor));
  return (rounded & 7U) | (__float_as_uint(product) >> 28 & 8U);
}

/// Codes of any values, the lowest first.
__device__ __forceinline__ std::uint32_t e2m1_codes(const float (&values)[8], float multiplier) {
  std::uint32_t word = 0;
#pragma unroll
  for (int i = 7; i >= 0; --i) word = word * 16 + e2m1_code(__fmul_rn(values[i], multiplier));
  return word;
}

/// Whether e2m1_codes_below_7() may be tried on values up to amax.
__device__ __forceinline__ bool e2m1_below_7(float amax, float multiplier) {
  return __fmul_rn(amax, multiplier) < 7.0F && multiplier >= 0x1p-112F;
}

/// 2^-14 times the E2M1 value that x = 2^14 * scaled rounds to, |x| < 7, so that its E5M2 byte is
/// s000ccc0 of the code's bits. The anchor is 2^22 * (1.5 + x^2 / 8) with its low bits truncated,
/// even in the last place of any sum: the sum rounds to halves up to x = 2, to ones up to 4.47,
/// then to twos, ties to even codes. (Between 4 and 4.5, ones and twos agree.) A zero is positive.
__device__ __forceinline__ float e2m1_rounded(float scaled) {
  const float square = __fmaf_rn(scaled, scaled, 0x1p-19F);
  const float anchor = __fmaf_rn(square, 0x1p33F, -16000.0F);
  return __fadd_rn(__fadd_rn(scaled, anchor), -anchor);
}

/// The signs of eight values: the top bit of byte j is that of value 2 j, or 2 j + 1.
struct SignWords {
  std::uint32_t even;
  std::uint32_t odd;
};

/// The signs of four words of two 16-bit values each.
__device__ __forceinline__ SignWords signs_of_pairs(const std::uint32_t (&words)[4]) {
  const std::uint32_t low = __byte_perm(words[0], words[1], 0x7351);
  const std::uint32_t high = __byte_perm(words[2], words[3], 0x7351);
  return {__byte_perm(low, high, 0x5410), __byte_perm(low, high, 0x7632)};
}

__device__ __forceinline__ SignWords signs_of_values(const float (&values)[8]) {
  std::uint32_t words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    words[i] =
        __byte_perm(__float_as_uint(values[2 * i]), __float_as_uint(values[2 * i + 1]), 0x7632);
  }
  return signs_of_pairs(words);
}

/// The same codes as e2m1_codes() if no product reaches 7; `fault` becomes nonzero if one is NaN.
__device__ __forceinline__ std::uint32_t e2m1_codes_below_7(const float (&values)[8],
                                                            float multiplier,
                                                            const SignWords& signs,
                                                            std::uint32_t& fault) {
  const float scale = __fmul_rn(multiplier, 0x1p-14F);
  const auto bytes = [&](int first) {
    const auto pair = [&](int i) {
      return std::uint32_t{__nv_cvt_float2_to_fp8x2({e2m1_rounded(__fmul_rn(values[i], scale)),
                                                     e2m1_rounded(__fmul_rn(values[i + 2], scale))},
                                                    __NV_SATFINITE, __NV_E5M2)};
    };
    return pair(first) | pair(first + 4) << 16;
  };
  const std::uint32_t even = bytes(0);
  const std::uint32_t odd = bytes(1);
  fault |= (even | odd) & 0x71717171U;
  const std::uint32_t low = (even >> 1 & 0x07070707U) | (signs.even >> 4 & 0x08080808U);
  const std::uint32_t high = (odd << 3 & 0x70707070U) | (signs.odd & 0x80808080U);
  return low | high;
}

}  // namespace kernels
