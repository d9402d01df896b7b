// What parts of a recipe are called wherever people read of them.
#pragma once

#include <string_view>

namespace engine {

/// Of a recipe that has both kinds (RecipeTraits::chooses_pow2()).
constexpr std::string_view scales_label(bool pow2) {
  return pow2 ? "power-of-two scales" : "FP32 scales";
}

}  // namespace engine
