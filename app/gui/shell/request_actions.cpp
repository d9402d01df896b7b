// A table of the request's enums and switches; the texts are those of the rail.
#include "app/gui/shell/request_actions.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "app/gui/shell/recipe_meaning.h"
#include "app/gui/shell/request_choices.h"
#include "engine/gemm/support.h"

namespace app {
namespace {

using engine::RunRequest;

class Collector {
 public:
  explicit Collector(const RunRequest& request) : request_(request) {}

  void add(std::string id, const char* group, std::string title,
           std::function<void(RunRequest&)> change) {
    RunRequest changed = request_;
    change(changed);
    actions_.push_back(
        {std::move(id), group, std::move(title), changed == request_, std::move(change)});
  }

  /// One action a value of an enum, by the names the rail shows.
  template <class Set>
  void choices(const std::string& id, const char* group, const char* what,
               const std::vector<std::string>& names, Set set) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      add(fmt::format("{}.{}", id, i), group, fmt::format("{}: {}", what, names[i]),
          [set, i](RunRequest& request) { set(request, static_cast<int>(i)); });
    }
  }

  template <class Get>
  void toggle(const char* id, const char* group, const char* what, Get get) {
    RunRequest now = request_;
    add(id, group, fmt::format("{}: {}", what, get(now) ? "off" : "on"),
        [get](RunRequest& request) { get(request) = !get(request); });
  }

  std::vector<RequestAction> take() { return std::move(actions_); }

 private:
  const RunRequest& request_;
  std::vector<RequestAction> actions_;
};

void set_distribution(engine::InputSpec& input, int index) {
  const auto* synthetic = std::get_if<engine::SyntheticInput>(&input);
  engine::SyntheticInput chosen = synthetic != nullptr ? *synthetic : engine::SyntheticInput{};
  chosen.distribution = static_cast<engine::Distribution>(index);
  input = chosen;
}

void set_element(engine::InputSpec& input, int index) {
  const auto* synthetic = std::get_if<engine::SyntheticInput>(&input);
  engine::SyntheticInput chosen = synthetic != nullptr ? *synthetic : engine::SyntheticInput{};
  chosen.element = static_cast<engine::ElementType>(index);
  input = chosen;
}

/// Without the last name, "From a file": a file is dropped on the window or chosen in the rail.
std::vector<std::string> without_file(const std::vector<std::string>& names) {
  return {names.begin(), names.end() - 1};
}

void add_inputs(Collector& all) {
  for (const auto& [role, id, what] :
       {std::tuple{engine::OperandRole::Activations, "activations", "X"},
        std::tuple{engine::OperandRole::Weights, "weights", "W"},
        std::tuple{engine::OperandRole::Gradients, "gradients", "dY"}}) {
    all.choices(fmt::format("{}.source", id), "Input", fmt::format("{} values", what).c_str(),
                without_file(choices::distributions()), [role = role](RunRequest& request, int i) {
                  set_distribution(choices::input_of(request, role), i);
                });
    all.choices(fmt::format("{}.element", id), "Input",
                fmt::format("{} element type", what).c_str(), choices::elements(),
                [role = role](RunRequest& request, int i) {
                  set_element(choices::input_of(request, role), i);
                });
  }
  all.choices("routing.distribution", "Routing", "Routing", without_file(choices::routings()),
              [](RunRequest& request, int i) {
                request.routing.distribution = static_cast<engine::RoutingDistribution>(i);
              });
}

void add_recipe(Collector& all) {
  all.choices("recipe.scaling", "Recipe", "Recipe", choices::scalings(),
              [](RunRequest& r, int i) { r.recipe.scaling = static_cast<engine::Scaling>(i); });
  all.choices("recipe.high_precision", "Recipe", "Not quantized", choices::high_precisions(),
              [](RunRequest& r, int i) {
                r.recipe.high_precision =
                    i == 1 ? engine::ElementType::Fp16 : engine::ElementType::Bf16;
              });
  all.choices("recipe.format", "Recipe", "X format", choices::formats(), [](RunRequest& r, int i) {
    r.recipe.activation_format = static_cast<engine::Fp8Format>(i);
  });
  all.choices(
      "recipe.gradient_format", "Recipe", "dY format", choices::formats(),
      [](RunRequest& r, int i) { r.recipe.gradient_format = static_cast<engine::Fp8Format>(i); });
  all.choices("recipe.algorithm", "Recipe", "Delayed scale from", choices::algorithms(),
              [](RunRequest& r, int i) {
                r.recipe.delayed.algorithm = static_cast<kernels::AmaxAlgorithm>(i);
              });
  const auto flag = [&all](const char* id, const char* what, bool engine::Recipe::* member) {
    all.toggle(id, "Recipe", what, [member](RunRequest& r) -> bool& { return r.recipe.*member; });
  };
  flag("recipe.pow2", "Power-of-two scales", &engine::Recipe::pow2_scales);
  flag("recipe.split_accumulator", "Split accumulator", &engine::Recipe::split_accumulator);
  flag("recipe.square_x", "Square blocks of X", &engine::Recipe::square_activation_blocks);
  flag("recipe.square", "Square blocks of W", &engine::Recipe::square_weight_blocks);
  flag("recipe.square_dy", "Square blocks of dY", &engine::Recipe::square_gradient_blocks);
  flag("recipe.hadamard", "Hadamard transform", &engine::Recipe::hadamard);
  flag("recipe.stochastic", "Stochastic rounding", &engine::Recipe::stochastic_rounding);
}

void add_step(Collector& all) {
  all.choices("step.passes", "Step", "Step", choices::passes(),
              [](RunRequest& r, int i) { r.linear.passes = static_cast<engine::StepPasses>(i); });
  all.choices("step.weight_storage", "Step", "Weights", choices::weight_storages(),
              [](RunRequest& r, int i) {
                r.linear.weight_storage = static_cast<engine::WeightStorage>(i);
              });
  all.choices(
      "step.wgrad_type", "Step", "dW type", choices::wgrad_types(), [](RunRequest& r, int i) {
        r.linear.wgrad_type = i == 1 ? engine::ElementType::Fp32 : engine::ElementType::Bf16;
      });
  const auto flag = [&all](const char* id, const char* what, bool engine::LinearOptions::* member) {
    all.toggle(id, "Step", what, [member](RunRequest& r) -> bool& { return r.linear.*member; });
  };
  flag("step.bias", "Bias", &engine::LinearOptions::bias);
  flag("step.accumulate", "Accumulate dW", &engine::LinearOptions::accumulate_wgrad);
  flag("step.delayed_wgrad", "dW last", &engine::LinearOptions::delayed_wgrad);
}

void add_engine(Collector& all) {
  all.choices("engine.backend", "Engine", "Backend", choices::backends(),
              [](RunRequest& r, int i) { r.backend = static_cast<engine::GemmBackend>(i); });
  all.choices(
      "engine.workspace", "Engine", "Workspace", choices::workspaces(),
      [](RunRequest& r, int i) { r.workspace = static_cast<engine::WorkspaceStrategy>(i); });
  all.choices("engine.setup_arrays", "Engine", "Setup arrays", choices::setup_arrays(),
              [](RunRequest& r, int i) { r.setup_arrays = static_cast<engine::SetupArrays>(i); });
  all.choices("engine.splits", "Engine", "Splits", choices::split_widths(),
              [](RunRequest& r, int i) { r.int32_splits = i == 1; });
  all.toggle("engine.programmatic", "Engine", "Programmatic launches",
             [](RunRequest& r) -> bool& { return r.programmatic_launch; });
  all.toggle("engine.try_algorithms", "Engine", "Try algorithms",
             [](RunRequest& r) -> bool& { return r.try_algorithms; });
  all.toggle("engine.markers", "Engine", "Markers",
             [](RunRequest& r) -> bool& { return r.launch.markers; });
  all.choices("engine.launch", "Engine", "Launch", choices::launches(),
              [](RunRequest& r, int i) { r.launch.kind = static_cast<engine::LaunchKind>(i); });
}

std::string backend_refusal(engine::GemmBackend backend, const LinkSupervisor& link) {
  if (!link.hello()) return {};
  const BackendOffer* offer = link.offer(backend);
  if (offer == nullptr) return "This worker was built without it";
  return offer->available ? std::string() : offer->reason;
}

}  // namespace

std::vector<RequestAction> request_actions(const RunRequest& request,
                                           const std::vector<engine::ShapePreset>& presets) {
  Collector all(request);
  for (const engine::ShapePreset& preset : presets) {
    all.add("shape.preset." + preset.name, "Shape", "Shape: " + preset.name,
            [preset](RunRequest& r) {
              r.shape = preset.shape;
              r.shape.preset = preset.name;
            });
  }
  add_inputs(all);
  add_recipe(all);
  add_step(all);
  add_engine(all);
  return all.take();
}

std::string refusal_of(const RequestAction& action, const RunRequest& request,
                       const LinkSupervisor& link) {
  if (action.chosen) return "Chosen already";
  if (const char* why = recipe_meaning::meaningless(action.id, request)) return why;
  RunRequest changed = request;
  action.change(changed);
  if (changed.backend != request.backend) return backend_refusal(changed.backend, link);
  if (!link.hello()) return {};
  const engine::DeviceCapability device = link.capability(request.backend);
  engine::Verdict verdict;
  if (!(changed.recipe == request.recipe)) {
    verdict = engine::recipe_support(changed.recipe, changed.backend, device, changed.linear);
  } else if (changed.workspace != request.workspace) {
    verdict = engine::workspace_support(changed.workspace, changed, device);
  } else if (!(changed.launch == request.launch)) {
    verdict = engine::launch_support(changed.launch, changed.backend, device);
  }
  return verdict.support == engine::Support::Refused ? verdict.sentence : std::string();
}

}  // namespace app
