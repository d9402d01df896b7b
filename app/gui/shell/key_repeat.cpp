#include "app/gui/shell/key_repeat.h"

#include <GLFW/glfw3.h>
#include <imgui.h>

#include <algorithm>
#include <cfloat>
#include <variant>

namespace app {
namespace {

bool is_repeat(const InputEvent& event) {
  const auto* key = std::get_if<KeyInput>(&event);
  return key != nullptr && key->action == GLFW_REPEAT;
}

}  // namespace

void follow_key_repeats(const std::vector<InputEvent>& taken) {
  ImGuiIO& io = ImGui::GetIO();
  const bool repeated = std::ranges::any_of(taken, is_repeat);
  io.KeyRepeatDelay = repeated ? 0.0F : FLT_MAX;
  // At least one repeat falls into this frame, however long it is.
  io.KeyRepeatRate = io.DeltaTime / 2;
}

}  // namespace app
