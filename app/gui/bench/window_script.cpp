// Input overwrites what GLFW has read for the frame; positions come from the control map.
#include "app/gui/bench/window_script.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace app {
namespace {

const ControlEntry* control(const Shell& shell, const std::string& id) {
  for (const ControlEntry& entry : shell.controls().entries()) {
    if (entry.id == id) return &entry;
  }
  return nullptr;
}

/// Moves the mouse to a position in the control, 0..1 from left to right and from top to bottom.
bool move_to(const Shell& shell, const std::string& id, float part_x, float part_y) {
  const ControlEntry* entry = control(shell, id);
  if (entry == nullptr) return false;
  ImGui::GetIO().MousePos = ImVec2(entry->min.x + part_x * (entry->max.x - entry->min.x),
                                   entry->min.y + part_y * (entry->max.y - entry->min.y));
  return true;
}

float sweep_position(int frame, float period) {
  return 0.5F + 0.4F * std::sin(static_cast<float>(frame) * 6.2832F / period);
}

ScriptStep wheel(const std::string& what, const std::string& plot, float notches, bool shift,
                 int frames) {
  return {what, [=](Shell& shell, int frame) {
            if (!move_to(shell, plot, sweep_position(frame, 40.0F), 0.4F)) return true;
            ImGui::GetIO().KeyShift = shift;
            ImGui::GetIO().MouseWheel = notches;
            return frame + 1 >= frames;
          }};
}

ScriptStep hover(const std::string& what, const std::string& plot, int frames) {
  return {what, [=](Shell& shell, int frame) {
            move_to(shell, plot, sweep_position(frame, 61.0F), sweep_position(frame, 17.0F));
            return frame + 1 >= frames;
          }};
}

ScriptStep select(const std::string& what, const std::string& plot, int frames) {
  return {what, [=](Shell& shell, int frame) {
            const float part = static_cast<float>(frame) / static_cast<float>(frames);
            move_to(shell, plot, 0.3F + 0.4F * part, 0.4F);
            ImGui::GetIO().MouseDown[ImGuiMouseButton_Left] = frame > 0 && frame + 1 < frames;
            return frame + 1 >= frames;
          }};
}

ScriptStep show(Action action) {
  return {"change of page", [action](Shell& shell, int frame) {
            if (frame == 0) shell.carry_out(action);
            return frame >= 9;
          }};
}

/// Frames while a background thread's result is pending and arrives.
ScriptStep wait_frames(const std::string& what, int frames) {
  return {what, [frames](Shell&, int frame) { return frame + 1 >= frames; }};
}

void use_plot(const std::string& plot, std::vector<ScriptStep>& script) {
  script.push_back(wheel("zoom", plot, 1.0F, false, 40));
  script.push_back(wheel("pan", plot, 1.0F, true, 20));
  script.push_back(hover("hover", plot, 30));
  script.push_back(wheel("zoom", plot, -1.0F, false, 40));
  script.push_back(wheel("pan", plot, -1.0F, true, 20));
  script.push_back(hover("hover", plot, 30));
}

}  // namespace

std::vector<ScriptStep> window_script() {
  std::vector<ScriptStep> script;
  script.push_back(show(Action::ShowPerformance));
  use_plot("performance.timeline", script);
  script.push_back(select("select a range", "performance.timeline", 20));
  script.push_back(wait_frames("select a range", 60));
  use_plot("performance.iterations", script);
  script.push_back(hover("hover", "performance.experts", 60));
  script.push_back(hover("hover", "performance.durations", 60));
  script.push_back(show(Action::ShowNumerics));
  script.push_back(show(Action::ShowGraphs));
  script.push_back(wait_frames("", 200));
  use_plot("graphs.matrix", script);
  use_plot("graphs.series", script);
  for (int i = 0; i < 4; ++i) {
    script.push_back(show(Action::ShowPerformance));
    script.push_back(show(Action::ShowNumerics));
    script.push_back(show(Action::ShowGraphs));
  }
  script.push_back(show(Action::ShowPerformance));
  return script;
}

}  // namespace app
