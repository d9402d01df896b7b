// Folding and value ranges of heatmaps.
#include "app/gui/plot/grid_fold.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace app::plot {

Grid folded(const Grid& grid, int most_rows, int most_columns) {
  if (grid.rows <= most_rows && grid.columns <= most_columns) return grid;
  Grid result{.rows = std::min(grid.rows, most_rows),
              .columns = std::min(grid.columns, most_columns),
              .values = {}};
  result.values.assign(
      static_cast<std::size_t>(result.rows) * static_cast<std::size_t>(result.columns),
      std::numeric_limits<float>::quiet_NaN());
  for (int row = 0; row < grid.rows; ++row) {
    const auto to_row = static_cast<std::size_t>(std::int64_t{row} * result.rows / grid.rows);
    for (int column = 0; column < grid.columns; ++column) {
      const auto to_column =
          static_cast<std::size_t>(std::int64_t{column} * result.columns / grid.columns);
      float& cell = result.values[to_row * static_cast<std::size_t>(result.columns) + to_column];
      cell = std::fmax(cell, grid.at(row, column));  // fmax prefers the number over NaN
    }
  }
  return result;
}

Range value_range(std::span<const float> values) {
  bool any = false;
  Range range;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double v = value;
    range = any ? Range{std::min(range.min, v), std::max(range.max, v)} : Range{v, v};
    any = true;
  }
  return range;
}

Range robust_range(std::span<const float> values, double low_quantile, double high_quantile) {
  std::vector<float> finite;
  // A sample is enough for a colour scale and keeps large matrices cheap.
  constexpr std::size_t kMostSamples = 65536;
  const std::size_t stride = std::max<std::size_t>(1, values.size() / kMostSamples);
  for (std::size_t i = 0; i < values.size(); i += stride) {
    if (std::isfinite(values[i])) finite.push_back(values[i]);
  }
  if (finite.empty()) return {};
  const auto at = [&finite](double quantile) {
    const auto index = static_cast<std::size_t>(quantile * static_cast<double>(finite.size() - 1));
    std::nth_element(finite.begin(), finite.begin() + static_cast<std::ptrdiff_t>(index),
                     finite.end());
    return static_cast<double>(finite[index]);
  };
  const double low = at(low_quantile);
  return {low, at(high_quantile)};
}

}  // namespace app::plot
