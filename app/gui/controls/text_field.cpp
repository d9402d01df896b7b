#include "app/gui/controls/text_field.h"

// After imgui.h: 1.86 does not include it itself.
#include <imgui_internal.h>  // what a field remembers
#include <imgui_stdlib.h>
#include <string.h>

namespace app::controls {
namespace {

int cut(ImGuiInputTextCallbackData* data) {
  const int most = *static_cast<const int*>(data->UserData);
  if (data->BufTextLen <= most) return 0;
  int end = most;
  // Back to the first byte of a character.
  while (end > 0 && (static_cast<unsigned char>(data->Buf[end]) & 0xC0U) == 0x80U) --end;
  data->DeleteChars(end, data->BufTextLen - end);
  return 0;
}

}  // namespace

bool is_full(const std::string& text, int most_bytes) {
  constexpr int kLongestCharacter = 4;
  return static_cast<int>(text.size()) > most_bytes - kLongestCharacter;
}

void forget_typed_text() {
  const auto overwrite = [](auto& vector) {
    if (vector.Data == nullptr) return;
    ::explicit_bzero(vector.Data, static_cast<std::size_t>(vector.Capacity) * sizeof *vector.Data);
  };
  ImGuiInputTextState& state = GImGui->InputTextState;
  ImGui::ClearActiveID();
  overwrite(state.TextW);
  overwrite(state.TextA);
  overwrite(state.InitialTextA);
  ::explicit_bzero(&state.Stb.undostate, sizeof state.Stb.undostate);
  state.ClearFreeMemory();
  state.ID = 0;
}

bool text_field(const char* label, const char* hint, std::string& text, ImGuiInputTextFlags flags,
                int most_bytes) {
  return ImGui::InputTextWithHint(label, hint, &text, flags | ImGuiInputTextFlags_CallbackEdit, cut,
                                  &most_bytes);
}

}  // namespace app::controls
