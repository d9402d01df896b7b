// The rail's step: which passes run, and what belongs to one of them. A setting of a pass that does
// not run says so.
#include <variant>

#include "app/gui/controls/widgets.h"
#include "app/gui/shell/control_rail.h"
#include "app/gui/shell/request_choices.h"

namespace app {
namespace {

constexpr const char* kForwardOnly =
    "The step has no backward pass: choose Backward or Both under Step";

controls::Options of_backward(const engine::LinearOptions& linear, const char* tooltip) {
  const bool runs = linear.passes != engine::StepPasses::Forward;
  return {.enabled = runs, .reason = runs ? "" : kForwardOnly, .tooltip = tooltip};
}

}  // namespace

void ControlRail::draw_step(engine::RunRequest& request) {
  section("Step");
  engine::LinearOptions& linear = request.linear;
  int passes = static_cast<int>(linear.passes);
  if (controls::segmented(*context_, "step.passes", passes, choices::passes(),
                          {.tooltip = "Forward: Y = X W^T. Backward: dX = dY W and dW = dY^T X, "
                                      "from what a forward step has saved"})) {
    linear.passes = static_cast<engine::StepPasses>(passes);
  }
  controls::checkbox(*context_, "step.bias", "Bias", linear.bias,
                     {.tooltip = "Adds b to Y; the backward pass gives its gradient, the sum of "
                                 "dY's rows"});
  if (linear.passes == engine::StepPasses::Forward) {
    // One greyed line in place of dY's source: nothing reads it.
    const auto* synthetic = std::get_if<engine::SyntheticInput>(&linear.gradients);
    int source = synthetic != nullptr ? static_cast<int>(synthetic->distribution)
                                      : static_cast<int>(choices::distributions().size()) - 1;
    controls::combo(*context_, "gradients.source", "dY", source, choices::distributions(),
                    of_backward(linear, ""));
  } else {
    draw_operand(engine::OperandRole::Gradients, request);
  }
  draw_wgrad(linear);

  row_label("Weights");
  int storage = static_cast<int>(linear.weight_storage);
  if (controls::segmented(*context_, "step.weight_storage", storage, choices::weight_storages(),
                          {.tooltip = "One tensor [experts, N, K] with one quantizer, or a tensor "
                                      "[N, K] an expert"})) {
    linear.weight_storage = static_cast<engine::WeightStorage>(storage);
  }
  std::int64_t micro_batches = linear.micro_batches;
  if (drag("step.micro_batches", "Micro-batches", micro_batches, 0, engine::kMaxMicroBatches + 1, 1,
           "Weights are quantized in the first of so many steps and kept for the others")) {
    linear.micro_batches = static_cast<int>(micro_batches);
  }
  error_under("linear.micro_batches");
}

void ControlRail::draw_wgrad(engine::LinearOptions& linear) {
  row_label("dW type");
  // The enum's FP16 lies between the two that a weight gradient can have.
  int type = linear.wgrad_type == engine::ElementType::Fp32 ? 1 : 0;
  if (controls::segmented(*context_, "step.wgrad_type", type, choices::wgrad_types(),
                          of_backward(linear, "Element type of dW"))) {
    linear.wgrad_type = type == 1 ? engine::ElementType::Fp32 : engine::ElementType::Bf16;
  }
  controls::checkbox(*context_, "step.accumulate", "dW +=", linear.accumulate_wgrad,
                     of_backward(linear, "Adds to the dW that is there instead of replacing it"));
  ImGui::SameLine(0, context_->theme.px(kGapSection));
  controls::checkbox(*context_, "step.delayed_wgrad", "dW last", linear.delayed_wgrad,
                     of_backward(linear,
                                 "Every dW after all else of the step, instead of right after "
                                 "its layer's dX"));
}

}  // namespace app
