// Folding and value ranges of heatmaps.
#include "app/plot/grid_fold.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace app::plot {

namespace {

int columns_of(const Grid& grid, std::size_t level) {
  int columns = grid.columns;
  for (std::size_t i = 0; i < level; ++i) columns = (columns + kGridFanout - 1) / kGridFanout;
  return columns;
}

}  // namespace

void add_coarser(Grid& grid) {
  grid.coarser.clear();
  const auto rows = static_cast<std::size_t>(grid.rows);
  // Below this number of columns a frame folds everything.
  constexpr int kEnough = 4096;
  for (int fine = grid.columns; fine > kEnough;) {
    const std::vector<float>& from = grid.coarser.empty() ? grid.values : grid.coarser.back();
    const int coarse = (fine + kGridFanout - 1) / kGridFanout;
    std::vector<float> level(rows * static_cast<std::size_t>(coarse),
                             std::numeric_limits<float>::quiet_NaN());
    for (std::size_t row = 0; row < rows; ++row) {
      const float* source = from.data() + row * static_cast<std::size_t>(fine);
      float* target = level.data() + row * static_cast<std::size_t>(coarse);
      for (int column = 0; column < fine; ++column) {
        float& cell = target[column / kGridFanout];
        cell = std::fmax(cell, source[column]);
      }
    }
    grid.coarser.push_back(std::move(level));
    fine = coarse;
  }
}

ColumnSpan shown_columns(double view_min, double view_max, int columns) {
  if (columns <= 0) return {};
  const double most = columns;
  // fmin and fmax prefer the number over NaN; a conversion of what no int holds is undefined.
  const double first = std::fmin(std::fmax(std::floor(view_min), 0.0), most - 1.0);
  const double last = std::fmin(std::fmax(std::ceil(view_max), first + 1.0), most);
  return {static_cast<int>(first), static_cast<int>(last)};
}

Grid folded(const Grid& grid, int most_rows, int most_columns) {
  if (grid.rows <= most_rows && grid.columns <= most_columns) return grid;
  return folded(grid, {0, grid.columns}, most_rows, most_columns);
}

Grid folded(const Grid& grid, ColumnSpan columns, int most_rows, int most_columns) {
  const int first = std::clamp(columns.first, 0, std::max(grid.columns, 0));
  const int span = std::clamp(columns.last, first, std::max(grid.columns, first)) - first;
  // A plot without room has no cells, whatever its size is worked out to be.
  Grid result{.rows = std::clamp(most_rows, 0, std::max(grid.rows, 0)),
              .columns = std::clamp(most_columns, 0, span),
              .values = {}};
  result.values.assign(
      static_cast<std::size_t>(result.rows) * static_cast<std::size_t>(result.columns),
      std::numeric_limits<float>::quiet_NaN());
  if (result.values.empty()) return result;
  // The coarsest level whose columns are at most half a cell wide.
  std::size_t level = 0;
  int stride = 1;
  while (level < grid.coarser.size() &&
         std::int64_t{stride} * kGridFanout * 2 * result.columns <= span) {
    ++level;
    stride *= kGridFanout;
  }
  const std::vector<float>& values = level == 0 ? grid.values : grid.coarser[level - 1];
  const auto width = static_cast<std::size_t>(columns_of(grid, level));
  const int end = (first + span + stride - 1) / stride;
  for (int row = 0; row < grid.rows; ++row) {
    const auto to_row = static_cast<std::size_t>(std::int64_t{row} * result.rows / grid.rows);
    const float* source = values.data() + static_cast<std::size_t>(row) * width;
    float* target = result.values.data() + to_row * static_cast<std::size_t>(result.columns);
    for (int column = first / stride; column < end; ++column) {
      const std::int64_t from = std::max(column * std::int64_t{stride} - first, std::int64_t{0});
      float& cell = target[from * result.columns / span];
      cell = std::fmax(cell, source[column]);  // fmax prefers the number over NaN
    }
  }
  return result;
}

namespace {

template <class Number>
Range range_of_finite(std::span<const Number> values) {
  bool any = false;
  Range range;
  for (const Number value : values) {
    if (!std::isfinite(value)) continue;
    const double v = value;
    range = any ? Range{std::min(range.min, v), std::max(range.max, v)} : Range{v, v};
    any = true;
  }
  return range;
}

}  // namespace

Range value_range(std::span<const float> values) { return range_of_finite(values); }
Range value_range(std::span<const double> values) { return range_of_finite(values); }

Range robust_range(std::span<const float> values, double low_quantile, double high_quantile) {
  std::vector<float> finite;
  // A sample is sufficient for a colour scale and keeps large matrices cheap.
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
