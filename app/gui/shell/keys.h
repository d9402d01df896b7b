// The keyboard of the window, in one place: what each key does and how the help overlay names it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "app/gui/view.h"

namespace app {

enum class Action {
  Run,
  OpenRecording,
  ShowPerformance,
  ShowNumerics,
  ShowGraphs,
  ShowRecipes,
  Help,
  Close,
  LargerText,
  SmallerText,
  Screenshot,
};

/// The action of a GLFW key press; keys that a text field needs are left to it while it is typed
/// in.
std::optional<Action> action_of(int key, int modifiers, bool typing);

/// Adds a key press to what the plot under the mouse is told. GLFW names keys by their place on the
/// keyboard, so W A S D are where the hand expects them on every layout.
void add_plot_key(int key, int modifiers, PlotKeys& keys);

struct KeyHelp {
  std::string_view keys;
  std::string_view meaning;
};
const std::vector<KeyHelp>& window_keys();
const std::vector<KeyHelp>& plot_keys();

}  // namespace app
