// The picture of the window as a PNG file.
#pragma once

#include <string>

namespace app {

/// Reads the current framebuffer (call after rendering, before the swap). Empty = written, else why
/// not.
std::string write_screenshot(const std::string& path, int width, int height);

}  // namespace app
