#include "app/plot/launch_tiles.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace app::plot {
namespace {

constexpr double kLeastRow = 1.5;  // pixels; lower ones would be lines of noise
constexpr int kPixelsWithGap = 6;  // from here on a pixel of them is left empty
constexpr int kRowPixelsWithGap = 4;

/// Pixels of a row, from the top; `end` is exclusive.
struct RowPixels {
  int begin = 0;
  int end = 0;
};

/// `every`: multiprocessors from one shown row to the next.
RowPixels pixels_of(const LaunchRow& row, const LaunchRows& rows, int every, int height) {
  const double per_multiprocessor = static_cast<double>(height) / rows.multiprocessors;
  const double room = per_multiprocessor * every;
  const double foot = height - per_multiprocessor * row.multiprocessor;
  const double place = room / rows.places;
  RowPixels pixels{static_cast<int>(std::round(foot - place * (row.place + 1))),
                   static_cast<int>(std::round(foot - place * row.place))};
  const bool topmost = row.place + 1 == rows.places;
  if (topmost && room >= kRowPixelsWithGap) ++pixels.begin;
  pixels.begin = std::clamp(pixels.begin, 0, height);
  pixels.end = std::clamp(std::max(pixels.end, pixels.begin + 1), 0, height);
  return pixels;
}

/// The tiles of the row that touch the view: their ends ascend, as their begins do.
std::span<const std::uint32_t> tiles_in(const engine::TiledLaunch& launch, const LaunchRow& row,
                                        Range view) {
  const auto first = std::ranges::partition_point(row.tiles, [&](std::uint32_t tile) {
    return static_cast<double>(launch.kept[tile].end_ns) < view.min;
  });
  const auto last = std::partition_point(first, row.tiles.end(), [&](std::uint32_t tile) {
    return static_cast<double>(launch.kept[tile].begin_ns) <= view.max;
  });
  return {first, last};
}

class Painter {
 public:
  Painter(const engine::TiledLaunch& launch, const LaunchImageSpec& spec, LaunchImage& image)
      : launch_(launch), spec_(spec), image_(image), per_ns_(spec.width / spec.view.span()) {}

  /// The tiles of the expert in front, or those of all others.
  void paint(const LaunchRow& row, RowPixels pixels, bool front) {
    for (const std::uint32_t index : tiles_in(launch_, row, spec_.view)) {
      const engine::LaunchTile& tile = launch_.kept[index];
      if ((tile.expert == spec_.front) != front) continue;
      ++image_.tiles;
      const double begin = pixel_of(tile.begin_ns);
      const double end = pixel_of(tile.end_ns);
      if (end - begin < 1.0) ++image_.narrow;
      int left = std::clamp(static_cast<int>(std::floor(begin)), 0, spec_.width - 1);
      int right = std::clamp(static_cast<int>(std::floor(end)), left + 1, spec_.width);
      if (end - begin >= kPixelsWithGap && right < spec_.width) --right;
      fill(left, right, pixels, color_of(tile.expert));
    }
  }

 private:
  double pixel_of(std::int64_t time_ns) const {
    return std::clamp((static_cast<double>(time_ns) - spec_.view.min) * per_ns_, -1.0,
                      spec_.width + 1.0);
  }
  std::uint32_t color_of(int expert) const {
    return spec_.colors[std::min(static_cast<std::size_t>(expert), spec_.colors.size() - 1)];
  }
  void fill(int left, int right, RowPixels rows, std::uint32_t color) {
    for (int y = rows.begin; y < rows.end; ++y) {
      const auto line = image_.pixels.begin() + std::ptrdiff_t{y} * spec_.width;
      std::fill(line + left, line + right, color);
    }
  }

  const engine::TiledLaunch& launch_;
  const LaunchImageSpec& spec_;
  LaunchImage& image_;
  double per_ns_;
};

}  // namespace

LaunchRows launch_rows(const engine::TiledLaunch& launch) {
  LaunchRows rows{.multiprocessors = std::max(launch.multiprocessors, 1),
                  .kept_every = std::max(launch.kept_every, 1)};
  std::size_t first = 0;  // row of the multiprocessor
  for (std::uint32_t index = 0; index < launch.kept.size(); ++index) {
    const engine::LaunchTile& tile = launch.kept[index];
    if (rows.rows.empty() || rows.rows.back().multiprocessor != tile.multiprocessor) {
      first = rows.rows.size();
    }
    std::size_t row = first;
    while (row < rows.rows.size() &&
           launch.kept[rows.rows[row].tiles.back()].end_ns > tile.begin_ns) {
      ++row;
    }
    if (row == rows.rows.size()) {
      rows.rows.push_back(
          {.multiprocessor = tile.multiprocessor, .place = static_cast<int>(row - first)});
    }
    rows.rows[row].tiles.push_back(index);
    rows.places = std::max(rows.places, rows.rows[row].place + 1);
  }
  return rows;
}

int shown_every(const LaunchRows& rows, int height) {
  const double kept = static_cast<double>(height) / rows.multiprocessors * rows.kept_every;
  const double wanted = std::max(kLeastRow, static_cast<double>(rows.places));
  return rows.kept_every * std::max(static_cast<int>(std::ceil(wanted / std::max(kept, 1e-6))), 1);
}

LaunchImage paint_launch(const engine::TiledLaunch& launch, const LaunchRows& rows,
                         const LaunchImageSpec& spec) {
  LaunchImage image;
  if (spec.width <= 0 || spec.height <= 0 || spec.view.empty() || spec.colors.empty()) return image;
  image.pixels.resize(static_cast<std::size_t>(spec.width) * static_cast<std::size_t>(spec.height));
  const int every = shown_every(rows, spec.height);
  Painter painter(launch, spec, image);
  for (const LaunchRow& row : rows.rows) {
    if (row.multiprocessor % every != 0) continue;
    const RowPixels pixels = pixels_of(row, rows, every, spec.height);
    painter.paint(row, pixels, false);
    painter.paint(row, pixels, true);
  }
  return image;
}

std::optional<std::uint32_t> tile_at(const engine::TiledLaunch& launch, const LaunchRows& rows,
                                     int height, double y, double time_ns) {
  const int every = shown_every(rows, height);
  for (const LaunchRow& row : rows.rows) {
    if (row.multiprocessor % every != 0) continue;
    const RowPixels pixels = pixels_of(row, rows, every, height);
    if (y < pixels.begin || y >= pixels.end) continue;
    for (const std::uint32_t tile : tiles_in(launch, row, {time_ns, time_ns})) return tile;
  }
  return std::nullopt;
}

}  // namespace app::plot
