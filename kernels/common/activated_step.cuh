// Loads eight of the elements to quantize: from the input, or silu(gate) * up rounded to the
// input's type. The result has the same form either way, so a kernel need not distinguish them.
#pragma once

#include "kernels/common/input_vectors.cuh"
#include "kernels/common/silu.h"

namespace kernels {

// silu() for ordinary gate values, with the same bits in half the instructions.

inline constexpr float kOrdinarySilu = 80.0F;

/// silu(x) for |x| <= kOrdinarySilu or NaN, in half the instructions: no intermediate exponent
/// leaves the normal range, so 2^n is an exponent addition and the reciprocal need not check its
/// operand. A test compares the two for every FP32 number.
__device__ __forceinline__ float silu_ordinary(float x) {
  constexpr float kRounder = 12582912.0F;
  const float shifted = __fmaf_rn(-x, 1.44269504F, kRounder);
  const float n = __fadd_rn(shifted, -kRounder);
  float r = __fmaf_rn(n, -0.693145752F, -x);
  r = __fmaf_rn(n, -1.42860677e-6F, r);
  // The low bits of `shifted` are n; the bits above them are shifted out.
  const float power =
      __uint_as_float(__float_as_uint(exp_near_zero(r)) + (__float_as_uint(shifted) << 23));
  const float divisor = __fadd_rn(1.0F, power);
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(divisor));
  reciprocal = __fmaf_rn(reciprocal, __fmaf_rn(-divisor, reciprocal, 1.0F), reciprocal);
  return __fmul_rn(x, reciprocal);
}

template <InputType kType, class Silu>
__device__ __forceinline__ RawStep<kType> gated_step(const RawStep<kType>& gate,
                                                     const RawStep<kType>& up, Silu silu_of) {
  RawStep<kType> raw;
#pragma unroll
  for (int pair = 0; pair < kStep / 2; ++pair) {
    const float2 g = step_pair(gate, pair);
    const float2 u = step_pair(up, pair);
    const float x = __fmul_rn(silu_of(g.x), u.x);
    const float y = __fmul_rn(silu_of(g.y), u.y);
    set_pair(raw, pair, x, y);
  }
  return raw;
}

/// For arbitrary gates, not inlined: gates beyond kOrdinarySilu are rare.
template <InputType kType>
__device__ __noinline__ RawStep<kType> gated_step_of_any(RawStep<kType> gate, RawStep<kType> up) {
  return gated_step(gate, up, [](float x) { return silu(x); });
}

template <InputType kType>
__device__ __forceinline__ RawStep<kType> swiglu_step(const RawStep<kType>& gate,
                                                      const RawStep<kType>& up) {
  if (word_amax<kType>(step_amax_word(gate)) <= kOrdinarySilu) {
    return gated_step(gate, up, [](float x) { return silu_ordinary(x); });
  }
  return gated_step_of_any(gate, up);
}

/// `row` counts rows of the input, `step_in_row` steps of eight logical columns.
template <InputType kType, Activation kActivation>
__device__ __forceinline__ RawStep<kType> load_activated_step(const GroupedInput& input,
                                                              std::int64_t row,
                                                              std::int64_t step_in_row) {
  const std::int64_t steps_per_row = input.columns / kStep;
  if constexpr (kActivation == Activation::None) {
    return load_step<kType>(input.input, row * steps_per_row + step_in_row);
  } else {
    const std::int64_t first = row * 2 * steps_per_row + step_in_row;
    return swiglu_step<kType>(load_step<kType>(input.input, first),
                              load_step<kType>(input.input, first + steps_per_row));
  }
}

/// The same, where `step` counts steps of eight across all rows. With an activation there are fewer
/// than 2^32.
template <InputType kType, Activation kActivation>
__device__ __forceinline__ RawStep<kType> activated_step_at(const GroupedInput& input,
                                                            std::int64_t step) {
  if constexpr (kActivation == Activation::None) {
    return load_step<kType>(input.input, step);
  } else {
    const auto per_row = static_cast<std::uint32_t>(input.columns / kStep);
    const auto at = static_cast<std::uint32_t>(step);
    const std::uint32_t row = at / per_row;
    return load_activated_step<kType, kActivation>(input, row, at - row * per_row);
  }
}

}  // namespace kernels
