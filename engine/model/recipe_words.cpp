#include "engine/model/recipe_words.h"

#include <fmt/format.h>

#include "engine/model/recipe_traits.h"

namespace engine {

std::string recipe_name(const Recipe& recipe, bool weights) {
  const RecipeTraits& traits = traits_of(recipe);
  std::string name(traits.label);
  const bool e5m2 = recipe.activation_format == Fp8Format::E5m2;
  if (traits.chooses_format() && !weights && e5m2) name += " E5M2";
  if (traits.chooses_pow2() && recipe.pow2_scales) name += fmt::format(", {}", scales_label(true));
  return name;
}

}  // namespace engine
