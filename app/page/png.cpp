// libpng's simplified interface does not use setjmp in our frames.
#include "app/page/png.h"

#include <png.h>

#include <algorithm>
#include <array>

namespace app {

std::vector<std::byte> png_of(const IndexedImage& image) {
  const auto cells = static_cast<std::size_t>(std::max(image.width, 0)) *
                     static_cast<std::size_t>(std::max(image.height, 0));
  if (cells == 0 || image.pixels.size() != cells) return {};
  std::array<png_byte, std::size_t{4} * (kNoColor + 1)> colormap{};  // transparent
  for (std::size_t i = 0; i < std::min<std::size_t>(image.colors.size(), kNoColor); ++i) {
    const plot::Rgb color = image.colors[i];
    colormap[4 * i] = static_cast<png_byte>(color >> 16 & 0xFFU);
    colormap[4 * i + 1] = static_cast<png_byte>(color >> 8 & 0xFFU);
    colormap[4 * i + 2] = static_cast<png_byte>(color & 0xFFU);
    colormap[4 * i + 3] = 0xFF;
  }
  png_image writer{};
  writer.version = PNG_IMAGE_VERSION;
  writer.width = static_cast<png_uint_32>(image.width);
  writer.height = static_cast<png_uint_32>(image.height);
  writer.format = PNG_FORMAT_RGBA_COLORMAP;
  writer.colormap_entries = kNoColor + 1;
  std::vector<std::byte> bytes(PNG_IMAGE_PNG_SIZE_MAX(writer));
  png_alloc_size_t size = bytes.size();
  const int written = png_image_write_to_memory(&writer, bytes.data(), &size, /*convert=*/0,
                                                image.pixels.data(), 0, colormap.data());
  if (written == 0) return {};
  bytes.resize(size);
  return bytes;
}

}  // namespace app
