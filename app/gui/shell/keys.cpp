// The window takes Ctrl combinations and function keys; letters belong to the plots and to text
// fields.
#include "app/gui/shell/keys.h"

#include <GLFW/glfw3.h>

namespace app {
namespace {

const std::vector<KeyHelp> kWindowKeys = {
    {"Ctrl+R  or  F5", "run the request in the rail"},
    {"Ctrl+O", "open a recording"},
    {"Ctrl+1   Ctrl+2   Ctrl+3", "Performance, Numerics, Graphs"},
    {"Ctrl+4", "Numerics: all recipes side by side, and back to the run"},
    {"Ctrl+=   Ctrl+-", "larger and smaller text"},
    {"F12", "save a PNG of the window"},
    {"?  or  F1", "this page"},
    {"Esc", "close what is in front"},
    {"Number fields",
     "drag to change, click to type (3*1024, 16k), arrows step, double click resets"},
};
const std::vector<KeyHelp> kPlotKeys = {
    {"Wheel  or  Ctrl+wheel", "zoom at the cursor"},
    {"W   S", "zoom in and out"},
    {"Right drag, Shift+drag, A   D, arrows", "pan"},
    {"Left drag", "select a range; sums follow the selection"},
    {"F  or  Z", "zoom to the selection"},
    {"Esc", "drop the selection"},
    {"/  or  Ctrl+F", "Timeline: search; Enter next, Shift+Enter previous"},
    {",   .", "Timeline: previous and next record of the row"},
    {"[   ]", "Timeline: along the graph, to what it waited for and to what waits for it"},
    {"Double click, Home  or  0", "show everything"},
};

}  // namespace

std::optional<Action> action_of(int key, int modifiers, bool typing) {
  if ((modifiers & GLFW_MOD_CONTROL) != 0) {
    switch (key) {
      case GLFW_KEY_R:
        return Action::Run;
      case GLFW_KEY_O:
        return Action::OpenRecording;
      case GLFW_KEY_1:
        return Action::ShowPerformance;
      case GLFW_KEY_2:
        return Action::ShowNumerics;
      case GLFW_KEY_3:
        return Action::ShowGraphs;
      case GLFW_KEY_4:
        return Action::ShowRecipes;
      case GLFW_KEY_EQUAL:
      case GLFW_KEY_KP_ADD:
        return Action::LargerText;
      case GLFW_KEY_MINUS:
      case GLFW_KEY_KP_SUBTRACT:
        return Action::SmallerText;
      default:
        return std::nullopt;
    }
  }
  switch (key) {
    case GLFW_KEY_F5:
      return Action::Run;
    case GLFW_KEY_F1:
      return Action::Help;
    case GLFW_KEY_F12:
      return Action::Screenshot;
    case GLFW_KEY_ESCAPE:
      // While typing, Escape restores the field's value first.
      return typing ? std::nullopt : std::optional(Action::Close);
    default:
      return std::nullopt;
  }
}

void add_plot_key(int key, int modifiers, PlotKeys& keys) {
  if ((modifiers & GLFW_MOD_CONTROL) != 0) {
    if (key == GLFW_KEY_F) keys.find = true;
    return;
  }
  switch (key) {
    case GLFW_KEY_SLASH:
      // With Shift it is `?` on most layouts.
      if ((modifiers & GLFW_MOD_SHIFT) == 0) keys.find = true;
      return;
    case GLFW_KEY_PERIOD:
      ++keys.event;
      return;
    case GLFW_KEY_COMMA:
      --keys.event;
      return;
    case GLFW_KEY_RIGHT_BRACKET:
      ++keys.edge;
      return;
    case GLFW_KEY_LEFT_BRACKET:
      --keys.edge;
      return;
    case GLFW_KEY_W:
      ++keys.zoom;
      return;
    case GLFW_KEY_S:
      --keys.zoom;
      return;
    case GLFW_KEY_D:
    case GLFW_KEY_RIGHT:
      ++keys.pan;
      return;
    case GLFW_KEY_A:
    case GLFW_KEY_LEFT:
      --keys.pan;
      return;
    case GLFW_KEY_F:
    case GLFW_KEY_Z:
      keys.fit_selection = true;
      return;
    case GLFW_KEY_HOME:
    case GLFW_KEY_0:
    case GLFW_KEY_KP_0:
      keys.fit_all = true;
      return;
    case GLFW_KEY_ESCAPE:
      keys.clear = true;
      return;
    default:
      return;
  }
}

const std::vector<KeyHelp>& window_keys() { return kWindowKeys; }
const std::vector<KeyHelp>& plot_keys() { return kPlotKeys; }

}  // namespace app
