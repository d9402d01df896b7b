// The rail's settings of the CUDA backends: how products and kernels are fed and launched, and what
// trying cuBLASLt's algorithms has gained in the run on screen.
#include <fmt/format.h>

#include <cmath>

#include "app/gui/controls/widgets.h"
#include "app/gui/plot/format.h"
#include "app/gui/shell/control_rail.h"
#include "app/gui/shell/recipe_meaning.h"
#include "app/gui/shell/request_choices.h"
#include "app/gui/shell/scopes.h"
#include "app/gui/theme/text.h"

namespace app {
namespace {

controls::Options meaningful(const char* control, const engine::RunRequest& request,
                             const char* tooltip) {
  const char* why_not = recipe_meaning::meaningless(control, request);
  return {.enabled = why_not == nullptr,
          .reason = why_not == nullptr ? "" : why_not,
          .tooltip = tooltip};
}

const char* product_text(engine::Product product) {
  switch (product) {
    case engine::Product::Fprop:
      return "fprop";
    case engine::Product::Dgrad:
      return "dgrad";
    case engine::Product::Wgrad:
      break;
  }
  return "wgrad";
}

/// "fprop: 412.0 us → 398.1 us, 3.4 % less (number 3 of 8)", as measured before the iterations.
std::string gain_text(const engine::AlgorithmChoice& choice) {
  const std::string first = plot::duration_text(1e3 * choice.first_us);
  if (choice.chosen == 0 || choice.first_us <= 0) {
    return fmt::format("{}: {}, the first of {} is the quickest", product_text(choice.product),
                       first, choice.candidates);
  }
  return fmt::format("{}: {} → {}, {:.1f} % less (number {} of {})", product_text(choice.product),
                     first, plot::duration_text(1e3 * choice.chosen_us),
                     100.0 * (1.0 - choice.chosen_us / choice.first_us), choice.chosen + 1,
                     choice.candidates);
}

}  // namespace

void ControlRail::draw_cuda_settings(engine::RunRequest& request) {
  const bool per_expert = request.backend == engine::GemmBackend::CublasLtPerExpert;
  std::int64_t streams = request.streams;
  if (controls::drag_int(*context_, "engine.streams", "Streams", streams, 1, engine::kMaxStreams, 4,
                         {.enabled = per_expert,
                          .reason = "One grouped launch, or the CPU, needs one stream: choose "
                                    "cuBLASLt per expert",
                          .tooltip = "The experts' matmuls are dealt to so many streams"})) {
    request.streams = static_cast<int>(streams);
  }
  error_under("streams");
  row_label("Setup arrays");
  int arrays = static_cast<int>(request.setup_arrays);
  const bool grouped = request.backend == engine::GemmBackend::CublasLtGrouped;
  if (controls::segmented(*context_, "engine.setup_arrays", arrays, choices::setup_arrays(),
                          {.enabled = grouped,
                           .reason = "Only grouped products read pointers and dimensions from "
                                     "arrays: choose cuBLASLt grouped",
                           .tooltip = "Each grouped product has its own arrays, filled by one "
                                      "launch, or all share one set, filled before each"})) {
    request.setup_arrays = static_cast<engine::SetupArrays>(arrays);
  }
  row_label("Splits");
  int width = request.int32_splits ? 1 : 0;
  if (controls::segmented(*context_, "engine.splits", width, choices::split_widths(),
                          meaningful("engine.splits", request,
                                     "Integers in which the router's splits lie on the device"))) {
    request.int32_splits = width == 1;
  }
  controls::checkbox(*context_, "engine.programmatic", "Programmatic launches",
                     request.programmatic_launch,
                     meaningful("engine.programmatic", request,
                                "Quantize, bias and offset kernels may start while the kernel "
                                "before them ends; each waits for it before its first access. "
                                "The results are the same bits"));
  controls::checkbox(*context_, "engine.try_algorithms", "Try algorithms", request.try_algorithms,
                     meaningful("engine.try_algorithms", request,
                                "Times the algorithms that cuBLASLt's heuristic offers, once a "
                                "shape, and takes the quickest; off = its first"));
  draw_algorithm_gains();
}

void ControlRail::draw_replay_watch(engine::LaunchMode& launch, const engine::RunRequest& request) {
  if (launch.kind == engine::LaunchKind::GraphReplay) {
    auto factor = static_cast<std::int64_t>(std::lround(launch.deadline_factor));
    if (drag("engine.deadline_factor", "Deadline x", factor, 0,
             static_cast<std::int64_t>(engine::kMaxDeadlineFactor), 20,
             "A replay that takes so many times the 99th percentile of those before it, and at "
             "least 0.5 s, is a stall: the run ends and says where it stands. 0 = it may take for "
             "ever")) {
      launch.deadline_factor = static_cast<double>(factor);
    }
    error_under("launch.deadline_factor");
  }
  controls::checkbox(*context_, "engine.markers", "Markers", launch.markers,
                     meaningful("engine.markers", request,
                                "A node behind every kernel of the graph says that it is done, so "
                                "that a stall names where it stands. Replays then follow each "
                                "other one at a time"));
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

}  // namespace app
