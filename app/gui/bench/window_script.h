// The benchmark's hands: steps that feed input frame by frame, each under the name its frames are
// reported by.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/gui/shell/shell.h"

namespace app {

struct ScriptStep {
  std::string what;  // frames of equal name are reported together; empty = not reported
  /// Feeds one frame's input; true = this was the last.
  std::function<bool(Shell& shell, int frame)> feed;
};

/// Zooms, pans, hovers and selects on the plots of all pages, and changes between those.
std::vector<ScriptStep> window_script();

}  // namespace app
