#include "app/gui/shell/request_choices.h"

#include <fmt/format.h>

#include "app/gui/shell/request_controls.h"
#include "engine/model/recipe_traits.h"

namespace app::choices {
engine::InputSpec& input_of(engine::RunRequest& request, engine::OperandRole role) {
  switch (role) {
    case engine::OperandRole::Activations:
      return request.activations;
    case engine::OperandRole::Weights:
      return request.weights;
    case engine::OperandRole::Gradients:
      break;
  }
  return request.linear.gradients;
}

controls::Options gate(const engine::Verdict& verdict) {
  controls::Options option;
  option.enabled = verdict.support != engine::Support::Refused;
  option.reason = verdict.sentence;
  option.tooltip = verdict.sentence;
  return option;
}

std::string summary(const engine::RunRequest& request) {
  const engine::ShapeSpec& shape = request.shape;
  const std::string what = shape.preset.empty() ? fmt::format("{}x{} {}x{}", shape.num_experts,
                                                              shape.tokens, shape.n, shape.k)
                                                : shape.preset;
  const engine::RecipeTraits& traits = engine::traits_of(request.recipe);
  std::string recipe(traits.label);
  if (traits.chooses_format()) {
    recipe += " ";
    recipe +=
        choice_label("recipe.format", static_cast<std::int64_t>(request.recipe.activation_format));
  }
  if (traits.chooses_pow2() && request.recipe.pow2_scales) recipe += " pow-2";
  return fmt::format(
      "{} · {} · {} · {} ×{}", what, recipe,
      choice_label("routing.distribution", static_cast<std::int64_t>(request.routing.distribution)),
      request.launch.kind == engine::LaunchKind::Eager ? "eager" : "graph",
      request.launch.iterations);
}

}  // namespace app::choices
