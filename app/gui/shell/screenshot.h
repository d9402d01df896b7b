// The picture of the window as a PNG file.
#pragma once

#include <string>

namespace app {

/// Reads the current framebuffer (call after rendering, before the swap). Empty = written, else why
/// not.
std::string write_screenshot(const std::string& path, int width, int height);

/// A part of the framebuffer, in its pixels from its top left corner.
struct PixelArea {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};
/// As write_screenshot(); what of `area` lies outside a framebuffer of this height is not drawn.
std::string write_picture(const std::string& path, const PixelArea& area, int framebuffer_height);

}  // namespace app
