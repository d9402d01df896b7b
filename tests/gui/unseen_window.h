// A window without a screen, for what draws with a PanelContext.
#pragma once

#include <imgui.h>

#include <vector>

#include "app/gui/controls/panel_context.h"

namespace app {

class UnseenWindow {
 public:
  UnseenWindow() {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = {800, 600};
    io.DeltaTime = 1.0F / 60.0F;
    ImFont* font = io.Fonts->AddFontDefault();
    io.Fonts->Build();
    theme.colors = palette(theme.kind);
    theme.fonts = {.body = font, .label = font, .title = font, .headline = font, .mono = font};
  }
  ~UnseenWindow() { ImGui::DestroyContext(); }
  UnseenWindow(const UnseenWindow&) = delete;
  UnseenWindow& operator=(const UnseenWindow&) = delete;

  /// One frame, in which `draw(context)` draws all of the window's content.
  template <class Draw>
  void frame(const Draw& draw) {
    controls.begin_frame();
    commands.clear();
    ImGui::NewFrame();
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize({800, 600});
    ImGui::Begin("window");
    draw(PanelContext{view, commands, theme, controls, number_edit});
    ImGui::End();
    ImGui::Render();
  }

  Theme theme{};
  SessionView view;
  std::vector<Command> commands;
  ControlMap controls;

 private:
  NumberEdit number_edit;
};

}  // namespace app
