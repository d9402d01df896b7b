// The libraries of the display: only a window needs them.
#pragma once

#include "engine/model/error.h"

namespace app {

/// Before the first call to GLFW or OpenGL. The error names the library and what to install.
engine::Status load_display_libraries();

}  // namespace app
