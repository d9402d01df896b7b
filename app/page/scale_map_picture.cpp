#include "app/page/scale_map_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/page/png.h"
#include "app/page/svg_frame.h"
#include "app/plot/scale_maps.h"

namespace app {
namespace {

constexpr double kMapHeight = 240;
constexpr double kLegendWidth = 96;
constexpr double kBarWidth = 10;
// Of the image. Noise does not compress: this is about 20 KB.
constexpr int kMostRows = 144;
constexpr int kMostColumns = 240;
constexpr int kColors = 24;

IndexedImage image_of(const plot::Grid& grid, plot::Range colors) {
  IndexedImage image{.width = grid.columns, .height = grid.rows, .pixels = {}, .colors = {}};
  for (int i = 0; i < kColors; ++i) {
    image.colors.push_back(
        plot::sequential_color(static_cast<float>(i) / static_cast<float>(kColors - 1)));
  }
  for (const float value : grid.values) {
    const double part = (static_cast<double>(value) - colors.min) / colors.span();
    image.pixels.push_back(std::isfinite(part) ? static_cast<std::uint8_t>(std::lround(
                                                     std::clamp(part, 0.0, 1.0) * (kColors - 1)))
                                               : kNoColor);
  }
  return image;
}

void add_legend(SvgPicture& picture, const SvgBox& inner, plot::Range colors, const char* what) {
  const double left = inner.right() + 16.0;
  const double step = inner.height / kColors;
  for (int i = 0; i < kColors; ++i) {
    picture.box(
        {.x = left,
         .y = inner.bottom() - (i + 1) * step,
         .width = kBarWidth,
         .height = step + (i == 0 ? 0.0 : 0.2)},
        {.fill = plot::sequential_color(static_cast<float>(i) / static_cast<float>(kColors - 1))});
  }
  const double text = left + kBarWidth + 5.0;
  picture.text({text, inner.y + kSvgTextSize}, map_value_text(MapLayer::Largest, colors.max));
  picture.text({text, inner.bottom()}, map_value_text(MapLayer::Largest, colors.min));
  picture.text({kSvgWidth - 5.0, kSvgTextSize}, what, {.anchor = SvgWords::Anchor::End});
}

/// The largest scale of a cell, unless nearly all folded cells have the same one: then the mean,
/// which still tells them apart.
MapLayer telling_layer(const engine::ScaleMap& map) {
  const plot::Grid largest =
      plot::folded(map_layer(map, MapLayer::Largest), kMostRows, kMostColumns);
  const bool folded = largest.rows < map.source_rows || largest.columns < map.source_columns;
  const bool alike = plot::robust_range(largest.values, 0.02, 0.98).empty();
  const bool measured = map_layer(map, MapLayer::Mean).rows > 0;
  return folded && alike && measured ? MapLayer::Mean : MapLayer::Largest;
}

}  // namespace

ScaleMapPicture scale_map_picture(const engine::ScaleMap& map, std::string title) {
  if (map.source_rows <= 0 || map.source_columns <= 0) return {};
  const MapLayer layer = telling_layer(map);
  const plot::Grid grid = plot::folded(map_layer(map, layer), kMostRows, kMostColumns);
  if (grid.rows == 0) return {};
  const plot::Range colors = map_colors(grid, layer);
  SvgPicture picture(kSvgWidth, kMapHeight, std::move(title));
  // Rows count from the top, as in the window.
  const auto rows = static_cast<double>(map.source_rows);
  const auto columns = static_cast<double>(map.source_columns);
  const SvgFrame frame(
      picture, {.x = 0, .y = 0, .width = kSvgWidth - kLegendWidth, .height = kMapHeight},
      {.kind = plot::AxisKind::Integer, .label = "scale column", .limits = {0.0, columns}},
      {.kind = plot::AxisKind::Integer, .label = "scale row", .limits = {rows, 0.0}});
  picture.box(frame.inner(), {.fill = kSvgRaised});
  picture.image(frame.inner(), png_of(image_of(grid, colors)));
  std::vector<double> separators = expert_separators(map);
  constexpr std::size_t kMostSeparators = 64;  // more would cover the map
  if (separators.size() > kMostSeparators) separators.clear();
  for (const double row : separators) {
    const double y = frame.y(row);
    picture.line({frame.inner().x, y}, {frame.inner().right(), y},
                 {.stroke = kSvgRaised, .width = 0.5});
  }
  const bool folded = grid.rows < map.source_rows || grid.columns < map.source_columns;
  const MapWords& words = words_of(layer);
  add_legend(picture, frame.inner(), colors, folded ? words.folded : words.legend);
  const std::string summary = summary_text(map.summary);
  return {.picture = std::move(picture),
          .note = fmt::format("{}{}{}{}", map_size_text(map),
                              summary.empty() ? "" : ". log2 of scale_inv: ", summary,
                              separators.empty() ? "" : ". Lines separate the experts")};
}

}  // namespace app
