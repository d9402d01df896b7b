#include "profiling/document/setting_names.h"

#include <fmt/format.h>

#include "engine/model/counted.h"
#include "engine/model/projections.h"
#include "engine/model/recipe_traits.h"

namespace profiling {

std::string recipe_title(const engine::Recipe& recipe) {
  const engine::RecipeTraits& traits = engine::traits_of(recipe);
  std::string title(engine::name_of(recipe.scaling));
  if (traits.chooses_format())
    title += fmt::format(" {}", engine::name_of(recipe.activation_format));
  if (traits.chooses_pow2() && recipe.pow2_scales) title += " pow2";
  if (traits.remembers_amax()) {
    title += fmt::format(" {} of {} margin {}", engine::name_of(recipe.delayed.algorithm),
                         recipe.delayed.history_length, recipe.delayed.margin);
  }
  // The square blocks of W that only repeat their scales are no part of a layout's name.
  if (traits.micro() && recipe.square_weight_blocks) title += " square-weights";
  if (traits.hadamard && recipe.hadamard) title += " hadamard";
  if (traits.stochastic_rounding && recipe.stochastic_rounding) title += " stochastic";
  return title;
}

std::string run_title(const engine::RunRequest& request) {
  const engine::ShapeSpec& shape = request.shape;
  std::string recipe = recipe_title(request.recipe);
  if (engine::is_expert_layer(request) && request.expert_layer.mixed_recipes) {
    const engine::RunRequest down = engine::projection_of(request, engine::Projection::Down);
    recipe += fmt::format(" up, {} down", recipe_title(down.recipe));
  }
  return fmt::format("{}, {}{}, {}, n {}, k {}, {} routing, {}, {}", recipe,
                     shape.preset.empty() ? std::string() : shape.preset + ": ",
                     engine::counted(shape.num_experts, "expert"),
                     engine::counted(shape.rows, "row"), shape.n, shape.k,
                     engine::name_of(request.routing.distribution),
                     engine::name_of(request.backend), engine::name_of(request.launch.kind));
}

}  // namespace profiling
