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

/// Whether no argument of a sigmoid in eight elements exceeds the limit: up to kOrdinarySigmoid,
/// sigmoid_ordinary() serves.
template <ActivationFunction kFunction, class A, InputType kType>
__device__ __forceinline__ bool is_ordinary(const A& activation, const RawStep<kType>& gate,
                                            float limit = kOrdinarySigmoid) {
  if constexpr (!uses_sigmoid(kFunction)) {
    return true;
  } else {
    const float largest = word_amax<kType>(step_amax_word(gate));
    return sigmoid_argument<kFunction>(activation, largest) <= limit;
  }
}

// Values of BF16 elements from the two approximations that the hardware has. The result has 8
// significant bits, so that almost always only the first of an approximation's wrong bits matters:
// whether it is on the same side of a rounding boundary. What comes too near to one is made again.

/// Largest argument of approximate_sigmoid().
inline constexpr float kApproximatedSigmoid = 16.0F;
/// Steepest SiLU for which it is used: x times a sigmoid is then a normal number, unless the
/// sigmoid is 1/2, which it gives exactly.
inline constexpr float kSteepestApproximated = 0x1p60F;
/// In FP32 ulps: how far a value may be from the one that its definition gives. A test finds
/// approximate_sigmoid() within 2^-24 times kSigmoidUlps of sigmoid() for every FP32 argument, and
/// exact below 2^-27. Two multiplications follow, each rounded in both: half an ulp of a product is
/// up to a whole one of the next.
inline constexpr unsigned kSigmoidUlps = 18;
inline constexpr unsigned kValueUlps = kSigmoidUlps + 4;

__device__ __forceinline__ float approximate_sigmoid(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(__fmul_rn(x, -1.44269504F)));
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(__fadd_rn(1.0F, power)));
  return reciprocal;
}

struct ApproximateSigmoid {
  static constexpr bool kOrdinary = true;
  __device__ __forceinline__ float operator()(float x) const { return approximate_sigmoid(x); }
};

template <ActivationFunction kFunction, InputType kType>
inline constexpr bool kApproximated = kType == InputType::Bf16 && uses_sigmoid(kFunction);

/// Which of eight values are within kValueUlps of a number halfway between two of BF16.
class NearBoundary {
 public:
  __device__ __forceinline__ void set(int pair, float x, float y) {
    const std::uint32_t low = __byte_perm(__float_as_uint(x), __float_as_uint(y), 0x5410);
    constexpr std::uint32_t kFromFirst = 0x8000U + kValueUlps;  // minus 0x8000 - kValueUlps
    distances_[pair] = __vadd2(low, kFromFirst << 16U | kFromFirst);
  }
  __device__ __forceinline__ bool of_pair(int pair) const { return is_near(distances_[pair]); }
  __device__ __forceinline__ bool any() const {
    return is_near(
        __vminu2(__vminu2(distances_[0], distances_[1]), __vminu2(distances_[2], distances_[3])));
  }

 private:
  __device__ __forceinline__ static bool is_near(std::uint32_t distances) {
    return min(distances & 0xFFFFU, distances >> 16U) <= 2 * kValueUlps;
  }
  std::uint32_t distances_[kStep / 2];
};

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

/// For arbitrary gates, not inlined: large ones are rare.
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

/// Two values by their definition, for arguments up to kOrdinarySigmoid. Called: they are rare.
template <ActivationFunction kFunction, bool kGated, bool kClamped, InputType kType, class A>
__device__ __noinline__ std::uint32_t ordinary_value_pair(A activation, std::uint32_t gate,
                                                          std::uint32_t up) {
  const float2 g = word_values<kType>(gate);
  const float2 u = word_values<kType>(up);
  constexpr OrdinarySigmoid sigmoid_of;
  return pack_pair<kType>(activated<kFunction, kGated, kClamped>(activation, g.x, u.x, sigmoid_of),
                          activated<kFunction, kGated, kClamped>(activation, g.y, u.y, sigmoid_of));
}

/// Makes a step by the short way, and says whether that was right for every element; otherwise
/// activated_step_of_any() has to make it. `up` is ignored unless kGated, `dy` unless kGradient;
/// of_up = the gradient of up.
template <ActivationFunction kFunction, bool kGated, bool kClamped, bool kGradient, class A,
          InputType kType>
__device__ __forceinline__ bool make_ordinary_step(const A& activation, const RawStep<kType>& gate,
                                                   const RawStep<kType>& up,
                                                   const RawStep<kType>& dy, bool of_up,
                                                   RawStep<kType>& made) {
  if constexpr (!kGradient && kApproximated<kFunction, kType>) {
    NearBoundary near;
    combine_steps(
        gate, up, dy,
        [&](float g, float u, float) {
          return activated<kFunction, kGated, kClamped>(activation, g, u, ApproximateSigmoid());
        },
        [&](int pair, float x, float y) {
          set_pair(made, pair, x, y);
          near.set(pair, x, y);
        });
    if (near.any()) {
#pragma unroll
      for (int pair = 0; pair < kStep / 2; ++pair) {
        if (near.of_pair(pair)) {
          made.words[pair] = ordinary_value_pair<kFunction, kGated, kClamped, kType>(
              activation, gate.words[pair], up.words[pair]);
        }
      }
    }
    return is_ordinary<kFunction>(activation, gate, kApproximatedSigmoid) &&
           activation.slope <= kSteepestApproximated;
  } else {
    constexpr OrdinarySigmoid sigmoid_of;
    made = combined_step(gate, up, dy, [&](float g, float u, float d) {
      if constexpr (kGradient) {
        return activation_gradient<kFunction, kGated, kClamped>(activation, g, u, d, of_up,
                                                                sigmoid_of);
      } else {
        return activated<kFunction, kGated, kClamped>(activation, g, u, sigmoid_of);
      }
    });
    return is_ordinary<kFunction>(activation, gate);
  }
}

KERNELS_HOST_DEVICE constexpr Taken taken(bool gradient, bool of_up) {
  if (!gradient) return Taken::Value;
  return of_up ? Taken::GradientOfUp : Taken::GradientOfGate;
}

template <ActivationFunction kFunction, bool kGated, bool kClamped, bool kGradient, class A,
          InputType kType>
__device__ __forceinline__ RawStep<kType> activated_step(const A& activation,
                                                         const RawStep<kType>& gate,
                                                         const RawStep<kType>& up,
                                                         const RawStep<kType>& dy, bool of_up) {
  RawStep<kType> made;
  if (make_ordinary_step<kFunction, kGated, kClamped, kGradient>(activation, gate, up, dy, of_up,
                                                                 made)) {
    return made;
  }
  return activated_step_of_any<kFunction, kGated, kClamped>(activation, gate, up, dy,
                                                            taken(kGradient, of_up));
}

/// Both gradients of a gated activation by the short way, and whether that was right.
template <ActivationFunction kFunction, bool kClamped, class A, InputType kType>
__device__ __forceinline__ bool make_ordinary_gradients(
    const A& activation, const RawStep<kType>& gate, const RawStep<kType>& up,
    const RawStep<kType>& dy, RawStep<kType>& of_gate, RawStep<kType>& of_up) {
  constexpr OrdinarySigmoid sigmoid_of;
  combine_steps(
      gate, up, dy,
      [&](float g, float u, float d) {
        return gated_gradients<kFunction, kClamped>(activation, g, u, d, sigmoid_of);
      },
      [&](int pair, const GatedGradients& x, const GatedGradients& y) {
        set_pair(of_gate, pair, x.gate, y.gate);
        set_pair(of_up, pair, x.up, y.up);
      });
  return is_ordinary<kFunction>(activation, gate);
}

/// kSwiglu as a type: what is instantiated for it does not multiply by its slope.
struct Swiglu : Activation {
  static constexpr bool kHasUnitSlope = true;
  KERNELS_HOST_DEVICE constexpr Swiglu() : Activation(kSwiglu) {}
};

template <InputType kType>
__device__ __forceinline__ RawStep<kType> swiglu_step(const RawStep<kType>& gate,
                                                      const RawStep<kType>& up) {
  return activated_step<ActivationFunction::Silu, true, false, false>(Swiglu(), gate, up, up,
                                                                      false);
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
