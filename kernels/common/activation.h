// Activation functions: which there are, and what is chosen about them. Host-safe; the arithmetic
// is in activation_math.h.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/common/host_device.h"

namespace kernels {

enum class ActivationFunction : std::uint8_t {
  None,         // the input itself
  Silu,         // x * sigmoid(slope * x); slope 1.702 makes it QGELU
  Gelu,         // x * sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)), which is the tanh form
  Relu,         // max(x, 0)
  SquaredRelu,  // max(x, 0)^2
};

inline constexpr float kUnlimited = std::numeric_limits<float>::infinity();

/// y = f(x) or, gated, y = f(gate) * up. With a limit, gate is at most the limit and up within plus
/// and minus the limit; their gradients beyond it are zero.
struct Activation {
  ActivationFunction function = ActivationFunction::None;
  bool gated = false;
  float slope = 1.0F;        // Silu only; positive
  float limit = kUnlimited;  // gated Silu only; positive
  float up_offset = 0.0F;    // gated Silu only: f(gate) * (up + up_offset)

  KERNELS_HOST_DEVICE constexpr bool is_none() const {
    return function == ActivationFunction::None;
  }
  KERNELS_HOST_DEVICE constexpr bool is_clamped() const {
    return limit < kUnlimited || up_offset != 0.0F;
  }
  /// Whether it is f(gate) * up with f(x) = x * sigmoid(x).
  KERNELS_HOST_DEVICE constexpr bool is_swiglu() const {
    return function == ActivationFunction::Silu && gated && slope == 1.0F && !is_clamped();
  }
};

/// Whether the kernels have it: what is chosen about an activation must have an effect.
constexpr bool is_supported(const Activation& activation) {
  const bool silu = activation.function == ActivationFunction::Silu;
  if (activation.is_none() && activation.gated) return false;
  if (!(activation.slope > 0.0F) || !(activation.limit > 0.0F)) return false;
  if (activation.slope != 1.0F && !silu) return false;
  return !activation.is_clamped() || (silu && activation.gated);
}

inline constexpr float kQuickGeluSlope = 1.702F;
inline constexpr Activation kSwiglu = {.function = ActivationFunction::Silu, .gated = true};
/// The activation of gpt-oss: gate and up are clamped at 7, and 1 is added to up.
inline constexpr Activation kClampedSwiglu = {.function = ActivationFunction::Silu,
                                              .gated = true,
                                              .slope = kQuickGeluSlope,
                                              .limit = 7.0F,
                                              .up_offset = 1.0F};

}  // namespace kernels
