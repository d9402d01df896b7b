#include "engine/model/recipe_words.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/model/recipe_traits.h"

namespace engine {

std::string_view recipe_label(const Recipe& recipe) {
  const RecipeTraits& traits = traits_of(recipe);
  if (traits.quantizes() || recipe.high_precision == ElementType::Bf16) return traits.label;
  return "FP16";  // the other high-precision type, see Recipe
}

std::string recipe_name(const Recipe& recipe, bool weights) {
  const RecipeTraits& traits = traits_of(recipe);
  std::string name(recipe_label(recipe));
  const bool e5m2 = recipe.activation_format == Fp8Format::E5m2;
  if (traits.chooses_format() && !weights && e5m2) name += " E5M2";
  if (traits.chooses_pow2()) name += fmt::format(", {}", scales_label(recipe.pow2_scales));
  return name;
}

std::string binades_text(const RangeWaste& waste, double binades) {
  if (waste.scales == 0) return "n/a";
  return fmt::format("{:.3f}", std::abs(binades) < 0.0005 ? 0.0 : binades);  // never "-0.000"
}

}  // namespace engine
