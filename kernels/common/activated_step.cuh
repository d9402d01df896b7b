// Eight of the elements to quantize: from the input, or what an activation makes of it, rounded to
// the input's type. The result has the same form either way, so a kernel need not distinguish them.
#pragma once

#include "kernels/common/activation_math.h"
#include "kernels/common/input_vectors.cuh"

namespace kernels {

// sigmoid() for ordinary arguments, with the same bits in half the instructions.

inline constexpr float kOrdinarySigmoid = 80.0F;

/// sigmoid(x) for |x| <= kOrdinarySigmoid, in half the instructions: no intermediate exponent
/// leaves the normal range, so 2^n is an exponent addition and the reciprocal need not check its
/// operand. Finite for NaN, which every use multiplies by x. A test compares the functions built on
/// the two for every FP32 number.
__device__ __forceinline__ float sigmoid_ordinary(float x) {
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
  return __fmaf_rn(reciprocal, __fmaf_rn(-divisor, reciprocal, 1.0F), reciprocal);
}

struct OrdinarySigmoid {
  static constexpr bool kOrdinary = true;
  __device__ __forceinline__ float operator()(float x) const { return sigmoid_ordinary(x); }
};

/// Whether sigmoid_ordinary() serves for all eight elements.
template <ActivationFunction kFunction, InputType kType>
__device__ __forceinline__ bool is_ordinary(const Activation& activation,
                                            const RawStep<kType>& gate) {
  if constexpr (!uses_sigmoid(kFunction)) {
    return true;
  } else {
    const float largest = word_amax<kType>(step_amax_word(gate));
    return sigmoid_argument<kFunction>(activation, largest) <= kOrdinarySigmoid;
  }
}

/// make(g, u, d) of every two neighbours of three steps, stored by set(pair, first, second).
template <InputType kType, class Make, class Set>
__device__ __forceinline__ void combine_steps(const RawStep<kType>& gate, const RawStep<kType>& up,
                                              const RawStep<kType>& dy, Make make, Set set) {
#pragma unroll
  for (int pair = 0; pair < kStep / 2; ++pair) {
    const float2 g = step_pair(gate, pair);
    const float2 u = step_pair(up, pair);
    const float2 d = step_pair(dy, pair);
    set(pair, make(g.x, u.x, d.x), make(g.y, u.y, d.y));
  }
}

/// Combines two or three steps element by element.
template <InputType kType, class Combine>
__device__ __forceinline__ RawStep<kType> combined_step(const RawStep<kType>& gate,
                                                        const RawStep<kType>& up,
                                                        const RawStep<kType>& dy, Combine combine) {
  RawStep<kType> raw;
  combine_steps(gate, up, dy, combine,
                [&](int pair, float x, float y) { set_pair(raw, pair, x, y); });
  return raw;
}

/// What of an activation an operand takes.
enum class Taken { Value, GradientOfGate, GradientOfUp };

/// For arbitrary gates, not inlined: gates beyond kOrdinarySigmoid are rare.
template <ActivationFunction kFunction, bool kGated, bool kClamped, InputType kType>
__device__ __noinline__ RawStep<kType> activated_step_of_any(const Activation& activation,
                                                             RawStep<kType> gate, RawStep<kType> up,
                                                             RawStep<kType> dy, Taken taken) {
  constexpr AnySigmoid sigmoid_of;
  return combined_step(gate, up, dy, [&](float g, float u, float d) {
    if (taken == Taken::Value) {
      return activated<kFunction, kGated, kClamped>(activation, g, u, sigmoid_of);
    }
    return activation_gradient<kFunction, kGated, kClamped>(
        activation, g, u, d, taken == Taken::GradientOfUp, sigmoid_of);
  });
}

/// `up` is ignored unless kGated, `dy` unless kGradient; of_up = the gradient of up.
template <ActivationFunction kFunction, bool kGated, bool kClamped, bool kGradient, InputType kType>
__device__ __forceinline__ RawStep<kType> activated_step(const Activation& activation,
                                                         const RawStep<kType>& gate,
                                                         const RawStep<kType>& up,
                                                         const RawStep<kType>& dy, bool of_up) {
  if (is_ordinary<kFunction>(activation, gate)) {
    constexpr OrdinarySigmoid sigmoid_of;
    return combined_step(gate, up, dy, [&](float g, float u, float d) {
      if constexpr (kGradient) {
        return activation_gradient<kFunction, kGated, kClamped>(activation, g, u, d, of_up,
                                                                sigmoid_of);
      } else {
        return activated<kFunction, kGated, kClamped>(activation, g, u, sigmoid_of);
      }
    });
  }
  return activated_step_of_any<kFunction, kGated, kClamped>(
      activation, gate, up, dy,
      !kGradient ? Taken::Value : (of_up ? Taken::GradientOfUp : Taken::GradientOfGate));
}

/// Both gradients of a gated activation: returns gate's.
template <ActivationFunction kFunction, bool kClamped, InputType kType>
__device__ __forceinline__ RawStep<kType> activation_gradients(const Activation& activation,
                                                               const RawStep<kType>& gate,
                                                               const RawStep<kType>& up,
                                                               const RawStep<kType>& dy,
                                                               RawStep<kType>& of_up) {
  if (!is_ordinary<kFunction>(activation, gate)) {
    of_up = activated_step_of_any<kFunction, true, kClamped>(activation, gate, up, dy,
                                                             Taken::GradientOfUp);
    return activated_step_of_any<kFunction, true, kClamped>(activation, gate, up, dy,
                                                            Taken::GradientOfGate);
  }
  constexpr OrdinarySigmoid sigmoid_of;
  RawStep<kType> of_gate;
  combine_steps(
      gate, up, dy,
      [&](float g, float u, float d) {
        return gated_gradients<kFunction, kClamped>(activation, g, u, d, sigmoid_of);
      },
      [&](int pair, const GatedGradients& x, const GatedGradients& y) {
        set_pair(of_gate, pair, x.gate, y.gate);
        set_pair(of_up, pair, x.up, y.up);
      });
  return of_gate;
}

template <InputType kType>
__device__ __forceinline__ RawStep<kType> swiglu_step(const RawStep<kType>& gate,
                                                      const RawStep<kType>& up) {
  constexpr Activation kPlain = kSwiglu;
  return activated_step<ActivationFunction::Silu, true, false, false>(kPlain, gate, up, up, false);
}

template <InputType kType>
__device__ __forceinline__ RawStep<kType> load_swiglu_step(const GroupedInput& input,
                                                           std::int64_t row,
                                                           std::int64_t step_in_row) {
  const std::int64_t steps_per_row = input.columns / kStep;
  const std::int64_t first = row * 2 * steps_per_row + step_in_row;
  return swiglu_step<kType>(load_step<kType>(input.input, first),
                            load_step<kType>(input.input, first + steps_per_row));
}

/// For kernels that are not about activations: one copy of all of them, called.
template <InputType kType>
__device__ __noinline__ RawStep<kType> step_of_activation(const GroupedInput& input,
                                                          std::int64_t row,
                                                          std::int64_t step_in_row) {
  const std::int64_t half = input.activated_columns() / kStep;
  const bool of_up = step_in_row >= half;
  const std::int64_t at = of_up ? step_in_row - half : step_in_row;
  const std::int64_t first = row * (input.input_columns() / kStep) + at;
  const RawStep<kType> gate = load_step<kType>(input.input, first);
  const RawStep<kType> up =
      input.activation.gated ? load_step<kType>(input.input, first + half) : zero_step<kType>();
  const RawStep<kType> dy = input.output_gradient != nullptr
                                ? load_step<kType>(input.output_gradient, row * half + at)
                                : zero_step<kType>();
  RawStep<kType> raw;
  dispatch_activation(
      input.activation, [&]<ActivationFunction kFunction, bool kGated, bool kClamped>() {
        raw = input.output_gradient != nullptr ? activated_step<kFunction, kGated, kClamped, true>(
                                                     input.activation, gate, up, dy, of_up)
                                               : activated_step<kFunction, kGated, kClamped, false>(
                                                     input.activation, gate, up, dy, of_up);
      });
  return raw;
}

/// `row` counts rows of the input, `step_in_row` steps of eight of the columns to quantize.
template <InputType kType, bool kActivated>
__device__ __forceinline__ RawStep<kType> load_activated_step(const GroupedInput& input,
                                                              std::int64_t row,
                                                              std::int64_t step_in_row) {
  const std::int64_t steps_per_row = input.columns / kStep;
  if constexpr (!kActivated) {
    return load_step<kType>(input.input, row * steps_per_row + step_in_row);
  } else {
    if (input.is_swiglu()) return load_swiglu_step<kType>(input, row, step_in_row);
    return step_of_activation<kType>(input, row, step_in_row);
  }
}

/// The same, where `step` counts steps of eight across all rows. With an activation there are fewer
/// than 2^32.
template <InputType kType, bool kActivated>
__device__ __forceinline__ RawStep<kType> activated_step_at(const GroupedInput& input,
                                                            std::int64_t step) {
  if constexpr (!kActivated) {
    return load_step<kType>(input.input, step);
  } else {
    const auto per_row = static_cast<std::uint32_t>(input.columns / kStep);
    const auto at = static_cast<std::uint32_t>(step);
    const std::uint32_t row = at / per_row;
    return load_activated_step<kType, kActivated>(input, row, at - row * per_row);
  }
}

}  // namespace kernels
