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
  Help,
  Close,
  LargerText,
  SmallerText,
  Screenshot,
};

/// The action of a GLFW key press; keys that a text field needs are left to it while it is typed
/// in.
std::optional<Action> action_of(int key, int modifiers, bool typing);

struct KeyHelp {
  std::string_view keys;
  std::string_view meaning;
};
const std::vector<KeyHelp>& window_keys();
const std::vector<KeyHelp>& plot_keys();

}  // namespace app
