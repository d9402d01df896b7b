// A matrix of colours as a PNG of few bytes: at most 256 different ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "app/plot/colors.h"

namespace app {

struct IndexedImage {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;  // [height, width], indices into `colors`
  std::vector<plot::Rgb> colors;     // at most 255
};
/// A pixel without a colour: the page shows through.
inline constexpr std::uint8_t kNoColor = 255;

/// Empty if there is nothing to show.
std::vector<std::byte> png_of(const IndexedImage& image);

}  // namespace app
