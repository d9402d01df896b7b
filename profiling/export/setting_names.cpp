#include "profiling/export/setting_names.h"

#include <fmt/format.h>

#include <variant>

namespace profiling {

std::string input_name(const engine::InputSpec& input) {
  if (const auto* synthetic = std::get_if<engine::SyntheticInput>(&input)) {
    return fmt::format("{} {}", engine::name_of(synthetic->distribution),
                       engine::name_of(synthetic->element));
  }
  const auto& file = std::get<engine::FileInput>(input);
  return file.tensor.empty() ? file.path : fmt::format("{}:{}", file.path, file.tensor);
}

std::string recipe_title(const engine::Recipe& recipe) {
  const std::string name(engine::name_of(recipe.scaling));
  const bool pow2 = recipe.pow2_scales;
  switch (recipe.scaling) {
    case engine::Scaling::None:
      return name;
    case engine::Scaling::Nvfp4:
      return fmt::format("{}{}{}{}", name, recipe.square_weight_blocks ? " square-weights" : "",
                         recipe.hadamard ? " hadamard" : "",
                         recipe.stochastic_rounding ? " stochastic" : "");
    case engine::Scaling::Mxfp8:
      return fmt::format("{} {}{}", name, engine::name_of(recipe.activation_format),
                         recipe.square_weight_blocks ? " square-weights" : "");
    case engine::Scaling::PerTensorDelayed:
      return fmt::format("{} {}{} {} of {} margin {}", name,
                         engine::name_of(recipe.activation_format), pow2 ? " pow2" : "",
                         engine::name_of(recipe.delayed.algorithm), recipe.delayed.history_length,
                         recipe.delayed.margin);
    default:
      return fmt::format("{} {}{}", name, engine::name_of(recipe.activation_format),
                         pow2 ? " pow2" : "");
  }
}

std::string run_title(const engine::RunRequest& request) {
  const engine::ShapeSpec& shape = request.shape;
  const std::string recipe = recipe_title(request.recipe);
  return fmt::format("{}, {}{} experts, {} tokens, n {}, k {}, {} routing, {}, {}", recipe,
                     shape.preset.empty() ? std::string() : shape.preset + ": ", shape.num_experts,
                     shape.tokens, shape.n, shape.k, engine::name_of(request.routing.distribution),
                     engine::name_of(request.backend), engine::name_of(request.launch.kind));
}

}  // namespace profiling
