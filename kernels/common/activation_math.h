// Activations and their gradients with the same bits on the host and on the device: their own
// exponential built from fused multiply-adds and exact steps, since the two platforms' expf differ.
// A sigmoid is the reciprocal 1 / (1 + exp(-x)), and x is multiplied by it instead of divided: one
// step less to round correctly on the device.
#pragma once

#include "kernels/common/activation.h"
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

KERNELS_HOST_DEVICE inline float sigmoid(float x) {
  return exact_divide(1.0F, exact_add(1.0F, portable_exp(-x)));
}

/// How the functions below get a sigmoid: of any argument, or (activated_step.cuh) in fewer
/// instructions of an ordinary one.
struct AnySigmoid {
  static constexpr bool kOrdinary = false;
  KERNELS_HOST_DEVICE float operator()(float x) const { return sigmoid(x); }
};

/// Most functions are x * sigmoid(s(x)).
KERNELS_HOST_DEVICE constexpr bool uses_sigmoid(ActivationFunction function) {
  return function == ActivationFunction::Silu || function == ActivationFunction::Gelu;
}

inline constexpr float kGeluSlope = 0x1.988454p+0F;  // 2 sqrt(2 / pi)
inline constexpr float kGeluCube = 0x1.2444f2p-4F;   // 0.044715 times that

/// s(x): odd, and rising with x. `A` is Activation or a type for one of them, here and below.
template <ActivationFunction kFunction, class A>
  requires(uses_sigmoid(kFunction))
KERNELS_HOST_DEVICE inline float sigmoid_argument(const A& activation, float x) {
  if constexpr (requires { A::kHasUnitSlope; }) {
    return x;
  } else if constexpr (kFunction == ActivationFunction::Silu) {
    return exact_multiply(activation.slope, x);
  } else {
    return exact_multiply(x, exact_fma(kGeluCube, exact_multiply(x, x), kGeluSlope));
  }
}
/// x s'(x), where `argument` is s(x).
template <ActivationFunction kFunction>
  requires(uses_sigmoid(kFunction))
KERNELS_HOST_DEVICE inline float argument_arm(float x, float argument) {
  if constexpr (kFunction == ActivationFunction::Silu) {
    return argument;
  } else {
    return exact_multiply(x, exact_fma(3.0F * kGeluCube, exact_multiply(x, x), kGeluSlope));
  }
}

/// f(x).
template <ActivationFunction kFunction, class A, class Sigmoid>
KERNELS_HOST_DEVICE inline float function_value(const A& activation, float x, Sigmoid sigmoid_of) {
  if constexpr (uses_sigmoid(kFunction)) {
    return exact_multiply(x, sigmoid_of(sigmoid_argument<kFunction>(activation, x)));
  } else {
    const float positive = x > 0.0F || x != x ? x : 0.0F;
    return kFunction == ActivationFunction::Relu ? positive : exact_multiply(positive, positive);
  }
}

struct ValueAndSlope {
  float value;
  float slope;
};
/// f(x) and f'(x); f'(0) = 0 of the rectified functions.
template <ActivationFunction kFunction, class A, class Sigmoid>
KERNELS_HOST_DEVICE inline ValueAndSlope function_slope(const A& activation, float x,
                                                        Sigmoid sigmoid_of) {
  if constexpr (uses_sigmoid(kFunction)) {
    const float argument = sigmoid_argument<kFunction>(activation, x);
    const float s = sigmoid_of(argument);
    // d sigmoid = sigmoid (1 - sigmoid). Zero at both ends, where x s'(x) may be infinite.
    const float change = exact_multiply(s, exact_add(1.0F, -s));
    const float arm = argument_arm<kFunction>(x, argument);
    const float slope = exact_fma(arm, change, s);
    return {exact_multiply(x, s), !Sigmoid::kOrdinary && change == 0.0F ? s : slope};
  } else {
    const float positive = x > 0.0F || x != x ? x : 0.0F;
    if constexpr (kFunction == ActivationFunction::Relu) {
      return {positive, x > 0.0F ? 1.0F : (x != x ? x : 0.0F)};
    }
    return {exact_multiply(positive, positive), exact_add(positive, positive)};
  }
}

/// What a clamp makes of gate and up; comparisons keep NaN.
KERNELS_HOST_DEVICE inline float clamped_gate(const Activation& activation, float gate) {
  return gate > activation.limit ? activation.limit : gate;
}
KERNELS_HOST_DEVICE inline float clamped_up(const Activation& activation, float up) {
  const float below = up > activation.limit ? activation.limit : up;
  return exact_add(below < -activation.limit ? -activation.limit : below, activation.up_offset);
}

/// y; `up` is ignored unless gated.
template <ActivationFunction kFunction, bool kGated, bool kClamped, class A, class Sigmoid>
KERNELS_HOST_DEVICE inline float activated(const A& activation, float gate, float up,
                                           Sigmoid sigmoid_of) {
  if constexpr (kClamped) {
    gate = clamped_gate(activation, gate);
    up = clamped_up(activation, up);
  }
  const float value = function_value<kFunction>(activation, gate, sigmoid_of);
  return kGated ? exact_multiply(value, up) : value;
}

struct GatedGradients {
  float gate;
  float up;
};
/// For a gradient `dy` of y.
template <ActivationFunction kFunction, bool kClamped, class A, class Sigmoid>
KERNELS_HOST_DEVICE inline GatedGradients gated_gradients(const A& activation, float gate, float up,
                                                          float dy, Sigmoid sigmoid_of) {
  bool gate_beyond = false;
  bool up_beyond = false;
  if constexpr (kClamped) {
    gate_beyond = gate > activation.limit;
    up_beyond = up > activation.limit || up < -activation.limit;
    gate = clamped_gate(activation, gate);
    up = clamped_up(activation, up);
  }
  const ValueAndSlope f = function_slope<kFunction>(activation, gate, sigmoid_of);
  const float of_gate = exact_multiply(exact_multiply(dy, up), f.slope);
  const float of_up = exact_multiply(dy, f.value);
  return {gate_beyond ? 0.0F : of_gate, up_beyond ? 0.0F : of_up};
}

/// The gradient of x, or one of the two of a gated activation.
template <ActivationFunction kFunction, bool kGated, bool kClamped, class A, class Sigmoid>
KERNELS_HOST_DEVICE inline float activation_gradient(const A& activation, float gate, float up,
                                                     float dy, bool of_up, Sigmoid sigmoid_of) {
  if constexpr (!kGated) {
    return exact_multiply(dy, function_slope<kFunction>(activation, gate, sigmoid_of).slope);
  } else {
    const GatedGradients both =
        gated_gradients<kFunction, kClamped>(activation, gate, up, dy, sigmoid_of);
    return of_up ? both.up : both.gate;
  }
}

/// Calls work.operator()<function, gated, clamped>() for an activation other than None.
template <class Work>
KERNELS_HOST_DEVICE inline void dispatch_activation(const Activation& activation, Work work) {
  const auto gated_or_not = [&]<ActivationFunction kFunction>() {
    if (activation.gated) {
      work.template operator()<kFunction, true, false>();
    } else {
      work.template operator()<kFunction, false, false>();
    }
  };
  switch (activation.function) {
    case ActivationFunction::None:
      return;
    case ActivationFunction::Silu:
      if (activation.gated && activation.is_clamped()) {
        return work.template operator()<ActivationFunction::Silu, true, true>();
      }
      return gated_or_not.template operator()<ActivationFunction::Silu>();
    case ActivationFunction::Gelu:
      return gated_or_not.template operator()<ActivationFunction::Gelu>();
    case ActivationFunction::Relu:
      return gated_or_not.template operator()<ActivationFunction::Relu>();
    case ActivationFunction::SquaredRelu:
      return gated_or_not.template operator()<ActivationFunction::SquaredRelu>();
  }
}

}  // namespace kernels
