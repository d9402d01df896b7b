// The rail's engine settings. What cannot be had is greyed out with the gate table's own sentence;
// what is hazardous carries a mark and stays possible.
#include <algorithm>

#include "app/gui/controls/widgets.h"
#include "app/gui/shell/control_rail.h"
#include "app/gui/shell/request_choices.h"
#include "app/gui/shell/scopes.h"

namespace app {

using choices::gate;

void ControlRail::draw_engine(engine::RunRequest& request) {
  section("Engine");
  draw_backend(request);
  draw_cublaslt(request);
  const bool known = link_->hello().has_value();
  const engine::DeviceCapability device = link_->capability(request.backend);

  row_label("Workspace");
  std::vector<controls::Options> gates;
  controls::Options workspace;
  workspace.tooltip = "Which products of the step share a cuBLASLt workspace";
  workspace.per_row = 2;
  if (!engine::runs_on_cuda(request.backend)) {
    workspace.enabled = false;
    workspace.reason = "The CPU reference needs no workspace: choose cuBLASLt grouped";
  }
  for (std::size_t i = 0; i < choices::workspaces().size() && known; ++i) {
    const auto strategy = static_cast<engine::WorkspaceStrategy>(i);
    const engine::Verdict verdict = engine::workspace_support(strategy, request, device);
    gates.push_back(gate(verdict));
    if (strategy == request.workspace && verdict.support == engine::Support::Hazardous) {
      workspace.hazardous = true;
      workspace.reason = verdict.sentence;
    }
  }
  int strategy = static_cast<int>(request.workspace);
  if (controls::segmented(*context_, "engine.workspace", strategy, choices::workspaces(), workspace,
                          gates)) {
    request.workspace = static_cast<engine::WorkspaceStrategy>(strategy);
  }

  draw_cuda_settings(request);

  row_label("Launch");
  gates.clear();
  for (std::size_t i = 0; i < choices::launches().size() && known; ++i) {
    engine::LaunchMode other = request.launch;
    other.kind = static_cast<engine::LaunchKind>(i);
    gates.push_back(gate(engine::launch_support(other, request.backend, device)));
  }
  int launch = static_cast<int>(request.launch.kind);
  if (controls::segmented(*context_, "engine.launch", launch, choices::launches(),
                          {.tooltip = "Eager: every step is launched. Graph: captured once, "
                                      "then replayed"},
                          gates)) {
    request.launch.kind = static_cast<engine::LaunchKind>(launch);
  }
  std::int64_t iterations = request.launch.iterations;
  if (drag("engine.iterations",
           request.launch.kind == engine::LaunchKind::Eager ? "Steps" : "Replays", iterations, 0,
           engine::kMaxIterations, 10, "Timed repetitions: the n of every time on screen")) {
    request.launch.iterations = static_cast<int>(iterations);
  }
  error_under("launch.iterations");
  draw_replay_watch(request.launch, request);
  std::int64_t layers = request.layers;
  if (drag("engine.layers", "Layers", layers, 0, engine::kMaxLayers + 1, 1,
           "Grouped products in one step, each with its own weights, all reading the same X")) {
    request.layers = static_cast<int>(layers);
  }
  error_under("layers");
}

void ControlRail::draw_backend(engine::RunRequest& request) {
  std::vector<controls::Options> options;
  for (std::size_t i = 0; i < choices::backends().size(); ++i) {
    const BackendOffer* offer = link_->offer(static_cast<engine::GemmBackend>(i));
    controls::Options option;
    if (offer == nullptr) {
      option.enabled = !link_->hello().has_value();
      option.reason = "This worker was built without it";
    } else {
      option.enabled = offer->available;
      option.reason = offer->reason;
      option.tooltip = offer->device.name;
    }
    options.push_back(option);
  }
  int backend = static_cast<int>(request.backend);
  if (controls::combo(*context_, "engine.backend", "Backend", backend, choices::backends(),
                      {.tooltip = "What multiplies"}, options)) {
    request.backend = static_cast<engine::GemmBackend>(backend);
  }
}

void ControlRail::draw_cublaslt(engine::RunRequest& request) {
  std::vector<std::string> libraries;
  if (link_->hello()) libraries = link_->hello()->cublaslt_libraries;
  std::vector<std::string> names = {"Worker's choice"};
  names.insert(names.end(), libraries.begin(), libraries.end());
  int index = 0;
  for (std::size_t i = 0; i < libraries.size(); ++i) {
    if (libraries[i] == link_->cublaslt()) index = static_cast<int>(i) + 1;
  }
  controls::Options options;
  options.enabled = !libraries.empty();
  options.reason = "No cuBLASLt library was found on the worker's machine";
  options.tooltip = "Another library starts another worker: one process can load only one";
  if (controls::combo(*context_, "engine.cublaslt", "cuBLASLt", index, names, options)) {
    const std::string chosen = index == 0 ? "" : libraries[static_cast<std::size_t>(index) - 1];
    request.cublaslt_library = chosen;
    wishes_.cublaslt = chosen;
  }
}

}  // namespace app
