// The benchmark's simulated input: steps that feed it frame by frame, each with the name under
// which its frames are reported.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/gui/shell/shell.h"

namespace app {

struct ScriptStep {
  std::string what;  // frames with the same name are reported together; empty = not reported
  /// Feeds one frame's input; true = this was the last.
  std::function<bool(Shell& shell, int frame)> feed;
};

/// Zooms, pans, hovers and selects on the plots of all pages, and switches between them.
std::vector<ScriptStep> window_script();

}  // namespace app
