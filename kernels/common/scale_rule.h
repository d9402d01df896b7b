// The shared scale function S(amax, max, pow2, eps, inf_value) of every FP8 recipe.
// Source of the rule: Transformer Engine, common/recipe/recipe_common.cuh (behaviour, not code).
#pragma once

#include "kernels/common/exact_float.h"
#include "kernels/common/types.h"

namespace kernels {

/// Largest finite value of the input type: replaces an overflowing block scale.
constexpr float input_max(InputType type) {
  switch (type) {
    case InputType::Bf16:
      return 0x1.FEp127F;
    case InputType::Fp16:
      return 65504.0F;
    case InputType::Fp32:
      break;
  }
  return kLargestFloat;
}

struct ScaleRule {
  float format_max = 448.0F;
  bool pow2 = false;
  float amax_epsilon = 0.0F;
  /// kLargestFloat for per-tensor scaling, input_max(type) for block scaling.
  float inf_value = 0.0F;
};

inline ScaleRule scale_rule(Fp8Format format, const ScaleOptions& options, float inf_value) {
  return {.format_max = fp8_max(format),
          .pow2 = options.pow2,
          .amax_epsilon = options.amax_epsilon,
          .inf_value = inf_value};
}

/// The quantization scale of a block or tensor with this amax. 1 for amax 0, inf or NaN. IEEE
/// division, no FTZ.
KERNELS_HOST_DEVICE inline float scale_from_amax(float amax, const ScaleRule& rule) {
  // NaN compares false: it must reach the next test and yield 1.
  if (amax < rule.amax_epsilon) amax = rule.amax_epsilon;
  if (!(amax > 0.0F) || amax > kLargestFloat) return 1.0F;
  float scale = exact_divide(rule.format_max, amax);
  if (scale > kLargestFloat) scale = rule.inf_value;
  // Rounded down, so that the block's amax still fits the format.
  return rule.pow2 ? round_down_to_power_of_two(scale) : scale;
}

}  // namespace kernels
