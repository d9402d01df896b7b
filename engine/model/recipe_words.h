// What parts of a recipe are called wherever people read of them.
#pragma once

#include <string>
#include <string_view>

#include "engine/model/recipe_comparison.h"
#include "engine/model/run_request.h"

namespace engine {

/// Label for a recipe that supports both kinds of scales (RecipeTraits::chooses_pow2()).
constexpr std::string_view scales_label(bool pow2) {
  return pow2 ? "power-of-two scales" : "FP32 scales";
}

/// "FP8 block", as beside other recipes; of one that quantizes nothing the type that the values
/// stay in: "FP16".
std::string_view recipe_label(const Recipe& recipe);

/// "FP8 block E5M2, power-of-two scales": what distinguishes the recipes of one comparison of an
/// operand. A recipe that supports both kinds of scales always says which, as all pages do.
std::string recipe_name(const Recipe& recipe, bool weights);

/// "0.512", of the mean or the largest waste; "n/a" where no scale counts.
std::string binades_text(const RangeWaste& waste, double binades);

}  // namespace engine
