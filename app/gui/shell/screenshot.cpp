// glReadPixels is OpenGL 1.0, so no loader is needed for it. libpng's simplified interface does not
// use setjmp in our frames.
#include "app/gui/shell/screenshot.h"

#include <GL/gl.h>
#include <png.h>

#include <cstdint>
#include <vector>

namespace app {

std::string write_screenshot(const std::string& path, int width, int height) {
  return write_picture(path, {.x = 0, .y = 0, .width = width, .height = height}, height);
}

std::string write_picture(const std::string& path, const PixelArea& area, int framebuffer_height) {
  const int width = area.width;
  const int height = area.height;
  if (width <= 0 || height <= 0) return "there is nothing to draw";
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width) *
                                   static_cast<std::size_t>(height) * 3);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(area.x, framebuffer_height - area.y - height, width, height, GL_RGB,
               GL_UNSIGNED_BYTE, pixels.data());
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  image.flags = PNG_IMAGE_FLAG_FAST;
  // A negative stride: OpenGL's first row is the lowest.
  if (png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), -width * 3, nullptr) == 0) {
    return path + ": " + image.message;
  }
  return {};
}

}  // namespace app
