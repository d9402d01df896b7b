#include "app/gui/cards/card_caption.h"

#include <fmt/format.h>

#include <filesystem>
#include <variant>

#include "app/controllers/request_actions.h"
#include "engine/model/caller_tensor.h"
#include "engine/model/projections.h"

namespace app {
namespace {

std::string tensor_text(const char* name, const engine::InputSpec& input) {
  if (const auto* file = std::get_if<engine::FileInput>(&input)) {
    // Without its folder: a picture leaves the machine.
    const std::string path = std::filesystem::path(file->path).filename().string();
    return fmt::format("{} {}{}{}", name, path, file->tensor.empty() ? "" : ":", file->tensor);
  }
  const auto& made = std::get<engine::SyntheticInput>(input);
  return fmt::format("{} {} {}", name, engine::name_of(made.distribution),
                     engine::element_name(made.element));
}

}  // namespace

std::string request_caption(const engine::RunRequest& request, const engine::DeviceFacts& device) {
  std::string tensors =
      tensor_text("X", request.activations) + ", " + tensor_text("W", request.weights);
  if (engine::is_expert_layer(request)) {
    tensors += ", " + tensor_text("Wdown", request.expert_layer.down_weights);
  }
  if (request.products.passes != engine::StepPasses::Forward) {
    tensors += ", " + tensor_text("dY", request.products.gradients);
  }
  std::string text = fmt::format("{}\n{} · seed {}", summary_of(request), tensors, request.seed);
  if (!device.name.empty()) text += " · " + device.name;
  if (!device.driver.empty()) text += " · driver " + device.driver;
  return text;
}

std::string run_caption(const SessionView& view) {
  if (view.run == nullptr) return {};
  const std::string from =
      view.session_path.empty() || !view.from_file
          ? std::string()
          : " of " + std::filesystem::path(view.session_path).filename().string();
  return fmt::format("Run {}{}: {}", view.run_index + 1, from,
                     request_caption(view.run->result.effective, view.run->result.device));
}

}  // namespace app
