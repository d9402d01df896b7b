#include "app/controllers/request_actions.h"

#include <fmt/format.h>

#include <utility>

#include "app/controllers/request_controls.h"
#include "engine/gemm/support.h"
#include "engine/model/recipe_traits.h"

namespace app {
namespace {

using engine::RunRequest;

class Collector {
 public:
  explicit Collector(const RunRequest& request) : request_(request) {}

  void add(std::string id, const char* group, std::string title, std::string field,
           std::function<void(RunRequest&)> change) {
    RunRequest changed = request_;
    change(changed);
    actions_.push_back({std::move(id), group, std::move(title), std::move(field),
                        changed == request_, std::move(change)});
  }

  void add(const RequestControl& control) {
    const std::string name =
        control.options.alone[0] != '\0' ? control.options.alone : control.label;
    if (control.kind == ControlKind::Switch) {
      const bool on = control_number(control, request_) != 0;
      add(control.id, control.group, fmt::format("{}: {}", name, on ? "off" : "on"), control.field,
          [&control, on](RunRequest& request) {
            set_control_value(control, request, std::int64_t{on ? 0 : 1});
          });
    }
    for (std::size_t i = 0; i < control.options.choices.size(); ++i) {
      const ControlChoice& choice = control.options.choices[i];
      if (choice.file) continue;  // dropped on the window, or chosen in the rail
      add(fmt::format("{}.{}", control.id, i), control.group,
          fmt::format("{}: {}", name, choice.label), control.field,
          [&control, value = choice.value](RunRequest& request) {
            set_control_value(control, request, value);
          });
    }
  }

  std::vector<RequestAction> take() { return std::move(actions_); }

 private:
  const RunRequest& request_;
  std::vector<RequestAction> actions_;
};

}  // namespace

std::vector<RequestAction> request_actions(const RunRequest& request,
                                           const std::vector<engine::ShapePreset>& presets) {
  Collector all(request);
  for (const engine::ShapePreset& preset : presets) {
    all.add("shape.preset." + preset.name, "Shape", "Shape: " + preset.name, "shape",
            [preset](RunRequest& r) { r.shape = preset.shape; });
  }
  for (const RequestControl& control : request_controls()) all.add(control);
  return all.take();
}

std::string refusal_of(const RequestAction& action, const RunRequest& request,
                       const LinkSupervisor& link) {
  if (action.chosen) return "Chosen already";
  if (std::string why = engine::inapplicable_reason(action.field, request); !why.empty()) {
    return why;
  }
  RunRequest changed = request;
  action.change(changed);
  if (changed.backend != request.backend) return backend_refusal(changed.backend, link);
  engine::Verdict verdict;
  for (const RequestControl& control : request_controls()) {
    if (action.field == control.field) verdict = control_support(control, changed, link);
  }
  return verdict.support == engine::Support::Refused ? verdict.sentence : std::string();
}

std::string summary_of(const RunRequest& request) {
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

}  // namespace app
