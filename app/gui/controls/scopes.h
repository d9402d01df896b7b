// Begin and End of ImGui as objects, so that an early return cannot leave one open.
#pragma once

#include <imgui.h>

namespace app {

class ChildScope {
 public:
  ChildScope(const char* id, ImVec2 size, ImU32 background, ImVec2 padding,
             ImGuiWindowFlags flags = 0) {
    ImGui::PushStyleColor(ImGuiCol_ChildBg, background);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, padding);
    ImGui::BeginChild(id, size, false, flags | ImGuiWindowFlags_AlwaysUseWindowPadding);
    ImGui::PopStyleVar();
    ImGui::PopStyleColor();
  }
  ~ChildScope() { ImGui::EndChild(); }
  ChildScope(const ChildScope&) = delete;
  ChildScope& operator=(const ChildScope&) = delete;
};

class FontScope {
 public:
  explicit FontScope(ImFont* font) { ImGui::PushFont(font); }
  ~FontScope() { ImGui::PopFont(); }
  FontScope(const FontScope&) = delete;
  FontScope& operator=(const FontScope&) = delete;
};

class TextColorScope {
 public:
  explicit TextColorScope(ImU32 color) { ImGui::PushStyleColor(ImGuiCol_Text, color); }
  ~TextColorScope() { ImGui::PopStyleColor(); }
  TextColorScope(const TextColorScope&) = delete;
  TextColorScope& operator=(const TextColorScope&) = delete;
};

/// A popup that was opened by its id; false if it is closed.
class PopupScope {
 public:
  PopupScope(const char* id, float padding) {
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(padding, padding));
    open_ = ImGui::BeginPopup(id);
    ImGui::PopStyleVar();
    // Without ImGui's own keyboard navigation no key closes a menu.
    if (open_ && ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape), false)) {
      ImGui::CloseCurrentPopup();
    }
  }
  ~PopupScope() {
    if (open_) ImGui::EndPopup();
  }
  PopupScope(const PopupScope&) = delete;
  PopupScope& operator=(const PopupScope&) = delete;
  explicit operator bool() const { return open_; }

 private:
  bool open_ = false;
};

/// A full-screen root or an overlay in front of it; neither moves nor has a frame of its own.
class OverlayScope {
 public:
  OverlayScope(const char* id, ImVec2 at, ImVec2 size, ImU32 background,
               ImGuiWindowFlags flags = 0) {
    ImGui::SetNextWindowPos(at);
    ImGui::SetNextWindowSize(size);
    ImGui::PushStyleColor(ImGuiCol_WindowBg, background);
    const bool root = (flags & ImGuiWindowFlags_NoBringToFrontOnFocus) != 0;
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, root ? 0.0F : 1.0F);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding,
                        root ? 0.0F : ImGui::GetStyle().PopupRounding);
    ImGui::Begin(id, nullptr,
                 flags | ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav);
    ImGui::PopStyleVar(2);
    ImGui::PopStyleColor();
  }
  ~OverlayScope() { ImGui::End(); }
  OverlayScope(const OverlayScope&) = delete;
  OverlayScope& operator=(const OverlayScope&) = delete;
};

}  // namespace app
