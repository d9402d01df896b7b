// The rail's engine settings: those of the table, the choice of a library, and what trying
// cuBLASLt's algorithms has gained in the run on screen.
#include <fmt/format.h>

#include "app/controllers/request_controls.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/format.h"
#include "app/gui/shell/control_rail.h"
#include "app/gui/shell/scopes.h"
#include "app/gui/theme/text.h"

namespace app {
namespace {

/// "fprop: 412.0 us → 398.1 us, 3.4 % less (number 3 of 8)", as measured before the iterations.
std::string gain_text(const engine::AlgorithmChoice& choice) {
  const std::string first = plot::duration_text(1e3 * choice.first_us);
  if (choice.chosen == 0 || choice.first_us <= 0) {
    return fmt::format("{}: {}, the first of {} is the quickest", engine::name_of(choice.product),
                       first, choice.candidates);
  }
  return fmt::format(
      "{}: {} → {}, {:.1f} % less (number {} of {})", engine::name_of(choice.product), first,
      plot::duration_text(1e3 * choice.chosen_us),
      100.0 * (1.0 - choice.chosen_us / choice.first_us), choice.chosen + 1, choice.candidates);
}

}  // namespace

void ControlRail::draw_engine(engine::RunRequest& request) {
  section("Engine");
  draw_backend(request);
  draw_cublaslt(request);
  draw_controls("engine.workspace", "engine.try_algorithms", request);
  draw_algorithm_gains();
  draw_controls("engine.launch", "engine.launch", request);
  RequestControl iterations = request_control("engine.iterations");
  iterations.label = request.launch.kind == engine::LaunchKind::Eager ? "Steps" : "Replays";
  draw_control(iterations, request);
  if (request.launch.kind == engine::LaunchKind::GraphReplay) {
    draw_controls("engine.deadline_factor", "engine.deadline_factor", request);
  }
  draw_controls("engine.markers", "engine.layers", request);
}

void ControlRail::draw_backend(engine::RunRequest& request) {
  const RequestControl& backend = request_control("engine.backend");
  std::vector<controls::Options> options;
  for (const ControlChoice& choice : backend.options.choices) {
    const auto kind = static_cast<engine::GemmBackend>(choice.value);
    controls::Options option;
    option.reason = backend_refusal(kind, *link_);
    option.enabled = option.reason.empty();
    if (const BackendOffer* offer = link_->offer(kind)) option.tooltip = offer->device.name;
    options.push_back(option);
  }
  int index = chosen_index(backend, request);
  if (controls::combo(*context_, backend.id, backend.label, index, choice_labels(backend),
                      options_of(backend, request), options)) {
    set_control_value(backend, request,
                      backend.options.choices[static_cast<std::size_t>(index)].value);
  }
}

void ControlRail::draw_algorithm_gains() {
  const SessionView& view = context_->view;
  if (view.run == nullptr || view.run->result.algorithms.empty()) return;
  const FontScope font(context_->theme.fonts.label);
  const TextColorScope color(context_->theme.colors.dim_text);
  std::string all;
  const ImVec2 from = ImGui::GetCursorScreenPos();
  for (const engine::AlgorithmChoice& choice : view.run->result.algorithms) {
    const std::string line = gain_text(choice);
    show_wrapped(line);
    all += line + "\n";
  }
  controls::record(*context_, "engine.algorithm_gains", "What trying algorithms has gained", "text",
                   all, from, ImGui::GetItemRectMax());
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
