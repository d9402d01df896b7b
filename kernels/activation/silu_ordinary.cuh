// silu() of the numbers that gates are made of, with the same bits in half the instructions.
#pragma once

#include <cstdint>

namespace kernels {

inline constexpr float kOrdinarySilu = 80.0F;

/// silu(x) for |x| <= kOrdinarySilu or NaN, in half the instructions: no exponent of it leaves the
/// normal range, so 2^n is a sum of exponents and the division needs no test of its operands. A
/// test compares the two for every FP32 number.
__device__ __forceinline__ float silu_ordinary(float x) {
  constexpr float kRounder = 12582912.0F;
  const float shifted = __fmaf_rn(-x, 1.44269504F, kRounder);
  const float n = __fadd_rn(shifted, -kRounder);
  float r = __fmaf_rn(n, -0.693145752F, -x);
  r = __fmaf_rn(n, -1.42860677e-6F, r);
  float p = 1.0F / 720.0F;
  p = __fmaf_rn(p, r, 1.0F / 120.0F);
  p = __fmaf_rn(p, r, 1.0F / 24.0F);
  p = __fmaf_rn(p, r, 1.0F / 6.0F);
  p = __fmaf_rn(p, r, 0.5F);
  p = __fmaf_rn(p, r, 1.0F);
  p = __fmaf_rn(p, r, 1.0F);
  // The last bits of `shifted` are n, all above them leave the word.
  const float power = __uint_as_float(__float_as_uint(p) + (__float_as_uint(shifted) << 23));
  const float divisor = __fadd_rn(1.0F, power);
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(divisor));
  reciprocal = __fmaf_rn(reciprocal, __fmaf_rn(-divisor, reciprocal, 1.0F), reciprocal);
  float quotient = __fmul_rn(x, reciprocal);
  // What is left over decides the last bit; the sign is x's, also of a zero.
  quotient = __fmaf_rn(__fmaf_rn(-divisor, quotient, x), reciprocal, quotient);
  quotient = __fmaf_rn(__fmaf_rn(-divisor, quotient, x), reciprocal, quotient);
  return __uint_as_float(__float_as_uint(quotient) | (__float_as_uint(x) & 0x80000000U));
}

}  // namespace kernels
