#include "app/gui/controls/copy.h"

#include <fmt/format.h>

namespace app::controls {

bool copy_wanted(ImVec2 min, ImVec2 max, bool right_click) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool key = io.KeyCtrl && !io.KeyShift && !io.WantTextInput &&
                   ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_C), false);
  const bool click = right_click && ImGui::IsMouseClicked(ImGuiMouseButton_Right);
  if (!key && !click) return false;
  return ImGui::IsMouseHoveringRect(min, max) && ImGui::IsWindowHovered();
}

void copy_number(const PanelContext& context, const std::string& number, const std::string& unit,
                 const std::string& label) {
  ImGui::SetClipboardText(number.c_str());
  context.commands.push_back(StatusMessage{
      fmt::format("Copied {}{}{}: {}", number, unit.empty() ? "" : " ", unit, label)});
}

std::string all_digits(double value) { return fmt::format("{}", value); }

}  // namespace app::controls
