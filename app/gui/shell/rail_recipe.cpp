// The rail's recipe: which one, and its settings. What cannot be had is greyed out with the gate
// table's own sentence; a setting without a meaning to the chosen recipe says why it has none.
#include "app/gui/controls/widgets.h"
#include "app/gui/shell/control_rail.h"
#include "app/gui/shell/recipe_meaning.h"
#include "app/gui/shell/request_choices.h"
#include "app/gui/shell/scopes.h"

namespace app {
namespace {

using namespace recipe_meaning;
using choices::gate;
using engine::Scaling;

controls::Options meaning(const char* none, const char* tooltip) {
  return {.enabled = none == nullptr, .reason = none == nullptr ? "" : none, .tooltip = tooltip};
}

}  // namespace

void ControlRail::draw_recipe(engine::RunRequest& request) {
  section("Recipe");
  engine::Recipe& recipe = request.recipe;
  const bool known = link_->hello().has_value();
  const engine::DeviceCapability device = link_->capability(request.backend);
  std::vector<controls::Options> gates;
  for (std::size_t i = 0; i < choices::scalings().size() && known; ++i) {
    engine::Recipe other = recipe;
    other.scaling = static_cast<Scaling>(i);
    gates.push_back(gate(engine::recipe_support(other, request.backend, device, request.linear)));
  }
  int scaling = static_cast<int>(recipe.scaling);
  if (controls::segmented(*context_, "recipe.scaling", scaling, choices::scalings(), {.per_row = 3},
                          gates)) {
    recipe.scaling = static_cast<Scaling>(scaling);
  }

  draw_high_precision(recipe);
  row_label("X format");
  gates.clear();
  for (std::size_t i = 0; i < choices::formats().size() && known; ++i) {
    engine::Recipe other = recipe;
    other.activation_format = static_cast<engine::Fp8Format>(i);
    gates.push_back(gate(engine::recipe_support(other, request.backend, device, request.linear)));
  }
  int format = static_cast<int>(recipe.activation_format);
  if (controls::segmented(*context_, "recipe.format", format, choices::formats(),
                          meaning(no_format(recipe), ""), gates)) {
    recipe.activation_format = static_cast<engine::Fp8Format>(format);
  }
  draw_gradient_format(request);
  controls::drag_float(*context_, "recipe.epsilon", "Amax epsilon", recipe.amax_epsilon, 0.0F, 1e4F,
                       0.0F,
                       meaning(no_epsilon(recipe),
                               "An amax below this counts as this. Drag: decades, from 0; click to "
                               "type; double click: 0"));
  error_under("recipe.amax_epsilon");
  controls::checkbox(*context_, "recipe.pow2", "Pow-2 scales", recipe.pow2_scales,
                     meaning(no_pow2(recipe), "Scales are rounded down to powers of two"));
  ImGui::SameLine(0, context_->theme.px(kGapSection));
  controls::checkbox(*context_, "recipe.split_accumulator", "Split accumulator",
                     recipe.split_accumulator,
                     meaning(no_split_accumulator(recipe),
                             "Promote partial sums to FP32 while the product is accumulated"));
  draw_square_blocks(request);
  draw_delayed_scaling(recipe);
  draw_micro_scaling(recipe);
}

void ControlRail::draw_high_precision(engine::Recipe& recipe) {
  row_label("Not quantized");
  int type = recipe.high_precision == engine::ElementType::Fp16 ? 1 : 0;
  if (controls::segmented(*context_, "recipe.high_precision", type, choices::high_precisions(),
                          {.tooltip = "Element type of Y and dX, and of every operand where "
                                      "nothing is quantized"})) {
    recipe.high_precision = type == 1 ? engine::ElementType::Fp16 : engine::ElementType::Bf16;
  }
}

void ControlRail::draw_gradient_format(engine::RunRequest& request) {
  engine::Recipe& recipe = request.recipe;
  const bool known = link_->hello().has_value();
  std::vector<controls::Options> gates;
  for (std::size_t i = 0; i < choices::formats().size() && known; ++i) {
    engine::Recipe other = recipe;
    other.gradient_format = static_cast<engine::Fp8Format>(i);
    gates.push_back(gate(engine::recipe_support(
        other, request.backend, link_->capability(request.backend), request.linear)));
  }
  const char* none = request.linear.passes == engine::StepPasses::Forward
                         ? "The step has no backward pass: choose Backward or Both under Step"
                         : no_format(recipe);
  row_label("dY format");
  int format = static_cast<int>(recipe.gradient_format);
  if (controls::segmented(*context_, "recipe.gradient_format", format, choices::formats(),
                          meaning(none, "Per-tensor scaling often takes E5M2"), gates)) {
    recipe.gradient_format = static_cast<engine::Fp8Format>(format);
  }
}

void ControlRail::draw_square_blocks(engine::RunRequest& request) {
  engine::Recipe& recipe = request.recipe;
  const bool compared = context_->view.recipes;
  const bool known = link_->hello().has_value();
  // Only the change that a click would make is gated: what is set can always be taken back.
  const auto options = [&](bool engine::Recipe::* square, const char* none, const char* tooltip) {
    controls::Options option = meaning(compared ? nullptr : none, tooltip);
    if (!option.enabled || !known || recipe.*square) return option;
    engine::Recipe other = recipe;
    other.*square = true;
    const engine::DeviceCapability device = link_->capability(request.backend);
    const auto ask = [&](const engine::Recipe& one) {
      return engine::recipe_support(one, request.backend, device, request.linear);
    };
    if (ask(recipe).support == engine::Support::Refused) return option;
    if (const engine::Verdict verdict = ask(other); verdict.support == engine::Support::Refused) {
      option = gate(verdict);
    }
    return option;
  };
  row_label("Square blocks");
  controls::checkbox(*context_, "recipe.square_x", "X", recipe.square_activation_blocks,
                     options(&engine::Recipe::square_activation_blocks, no_square_blocks(recipe),
                             "One scale for 128x128 elements of X instead of 1x128"));
  ImGui::SameLine(0, context_->theme.px(kGapLarge));
  controls::checkbox(*context_, "recipe.square", "W", recipe.square_weight_blocks,
                     options(&engine::Recipe::square_weight_blocks, no_weight_blocks(recipe),
                             "One scale for 128x128 (FP8 block), 32x32 (MXFP8) or 16x16 (NVFP4) "
                             "weights, so that both directions see the same values"));
  ImGui::SameLine(0, context_->theme.px(kGapLarge));
  const bool backward = request.linear.passes != engine::StepPasses::Forward;
  controls::checkbox(*context_, "recipe.square_dy", "dY", recipe.square_gradient_blocks,
                     options(&engine::Recipe::square_gradient_blocks,
                             backward ? no_square_blocks(recipe)
                                      : "The step has no backward pass: choose Backward or Both "
                                        "under Step",
                             "One scale for 128x128 elements of dY instead of 1x128"));
}

void ControlRail::draw_delayed_scaling(engine::Recipe& recipe) {
  // A comparison has every recipe in it, with these settings.
  const char* none = context_->view.recipes ? nullptr : no_history(recipe);
  std::int64_t length = recipe.delayed.history_length;
  if (controls::drag_int(*context_, "recipe.history", "Amax history", length, 1,
                         engine::kMaxHistoryLength, 1024,
                         meaning(none, "Steps whose amax is remembered"))) {
    recipe.delayed.history_length = static_cast<int>(length);
  }
  row_label("Scale from");
  int algorithm = static_cast<int>(recipe.delayed.algorithm);
  if (controls::segmented(
          *context_, "recipe.algorithm", algorithm, choices::algorithms(),
          meaning(none, "The last step's amax, or the largest of the whole history"))) {
    recipe.delayed.algorithm = static_cast<kernels::AmaxAlgorithm>(algorithm);
  }
  std::int64_t margin = recipe.delayed.margin;
  if (controls::drag_int(
          *context_, "recipe.margin", "Margin", margin, -engine::kMaxMargin, engine::kMaxMargin, 0,
          meaning(none, "The scale is 2^margin smaller: room for an amax that grows"))) {
    recipe.delayed.margin = static_cast<int>(margin);
  }
}

void ControlRail::draw_micro_scaling(engine::Recipe& recipe) {
  const bool compared = context_->view.recipes;
  const char* no_nvfp4 = compared ? nullptr : not_nvfp4(recipe);
  controls::checkbox(*context_, "recipe.hadamard", "Hadamard", recipe.hadamard,
                     meaning(no_nvfp4,
                             "Random Hadamard transform before the columnwise copy is quantized: "
                             "spreads an outlier over 16 elements"));
  ImGui::SameLine(0, context_->theme.px(kGapSection));
  controls::checkbox(*context_, "recipe.stochastic", "Stochastic rounding",
                     recipe.stochastic_rounding,
                     meaning(no_nvfp4,
                             "Rounds up or down by chance, in proportion: no "
                             "bias on average. Numbers follow the seed"));
}

}  // namespace app
