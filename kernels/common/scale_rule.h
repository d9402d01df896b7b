// The shared scale function S(amax, max, pow2, eps, inf_value) of every FP8 recipe.
// Source of the rule: Transformer Engine, common/recipe/recipe_common.cuh (behaviour, not code).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

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
  return std::numeric_limits<float>::max();
}

struct ScaleRule {
  float format_max = 448.0F;
  bool pow2 = false;
  float amax_epsilon = 0.0F;
  float inf_value = 0.0F;  // FLT_MAX for per-tensor scaling, input_max(type) for block scaling
};

/// The quantization scale of a block or tensor with this amax. 1 for amax 0, inf or NaN. IEEE
/// division, no FTZ.
KERNELS_HOST_DEVICE inline float scale_from_amax(float amax, const ScaleRule& rule) {
  // NaN compares false: it must reach the next test and yield 1.
  if (amax < rule.amax_epsilon) amax = rule.amax_epsilon;
  if (!(amax > 0.0F) || amax > 3.402823466e38F) return 1.0F;
#ifdef __CUDA_ARCH__
  float scale = __fdiv_rn(rule.format_max, amax);
  if (scale > 3.402823466e38F) scale = rule.inf_value;
  // Clearing the mantissa rounds the scale down, so that the block's amax still fits the format.
  if (rule.pow2) scale = __uint_as_float(__float_as_uint(scale) & 0xFF800000U);
#else
  float scale = rule.format_max / amax;
  if (scale > 3.402823466e38F) scale = rule.inf_value;
  if (rule.pow2) scale = std::bit_cast<float>(std::bit_cast<std::uint32_t>(scale) & 0xFF800000U);
#endif
  return scale;
}

}  // namespace kernels
