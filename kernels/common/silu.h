// silu(x) = x * (1 / (1 + exp(-x))) with the same bits on the host and on the device: its own
// exponential built from fused multiply-adds and exact steps, since the two platforms' expf differ.
// Multiplies by the reciprocal instead of dividing: one step less to round correctly on the device.
#pragma once

#include "kernels/common/exact_float.h"

namespace kernels {

/// exp(r) for |r| <= ln 2 / 2, within 1.1e-7 of it: 1 + r and the degree-5 minimax polynomial of
/// the relative error (Remez).
KERNELS_HOST_DEVICE inline float exp_near_zero(float r) {
  float p = 0x1.10627p-7F;
  p = exact_fma(p, r, 0x1.572a1ep-5F);
  p = exact_fma(p, r, 0x1.5557aep-3F);
  p = exact_fma(p, r, 0x1.fffdfcp-2F);
  p = exact_fma(p, r, 1.0F);
  return exact_fma(p, r, 1.0F);
}

/// exp(t), within 3 ulp; 0 below -104, inf above 89. NaN gives NaN.
KERNELS_HOST_DEVICE inline float portable_exp(float t) {
  if (!(t > -104.0F)) return t != t ? t : 0.0F;
  if (t > 89.0F) return bits_to_float(0x7F800000U);
  // Adding and subtracting 1.5 * 2^23 rounds to the nearest integer, ties to even.
  constexpr float kRounder = 12582912.0F;
  const float n = exact_add(exact_fma(t, 1.44269504F, kRounder), -kRounder);
  float r = exact_fma(n, -0.693145752F, t);  // ln 2 split in two parts
  r = exact_fma(n, -1.42860677e-6F, r);
  const float p = exp_near_zero(r);
  // Two factors, since 2^n alone exceeds the range of normal numbers at both ends.
  const int whole = static_cast<int>(n);
  const int half = whole / 2;
  const float low = bits_to_float(static_cast<std::uint32_t>(half + 127) << 23);
  const float high = bits_to_float(static_cast<std::uint32_t>(whole - half + 127) << 23);
  return exact_multiply(exact_multiply(p, low), high);
}

KERNELS_HOST_DEVICE inline float silu(float x) {
  return exact_multiply(x, exact_divide(1.0F, exact_add(1.0F, portable_exp(-x))));
}

}  // namespace kernels
