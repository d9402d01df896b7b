// Folds a matrix of values to the maximum size of a texture, keeping the largest value of each cell
// (an average would hide the slow replay), and finds the range its colours span. No ImGui calls.
#pragma once

#include <span>
#include <vector>

#include "app/plot/range.h"

namespace app::plot {

inline constexpr int kGridFanout = 8;

struct Grid {
  int rows = 0;
  int columns = 0;
  std::vector<float> values;  // [rows, columns]; NaN = missing
  /// Each level keeps the largest of kGridFanout columns of the previous one; may be empty.
  std::vector<std::vector<float>> coarser{};

  float at(int row, int column) const {
    return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                  static_cast<std::size_t>(column)];
  }
};

/// Makes folding many columns cheap enough for a frame, for an eighth more memory.
void add_coarser(Grid& grid);

/// A run of columns.
struct ColumnSpan {
  int first = 0;
  int last = 0;  // exclusive
  bool operator==(const ColumnSpan&) const = default;
};
/// The columns that a view touches, of so many; at least one if there is any, wherever the view is:
/// that of the last run may lie outside this one.
ColumnSpan shown_columns(double view_min, double view_max, int columns);
/// At most this many rows and columns. A cell is missing only if everything it covers is. With
/// coarser levels a cell may include up to half a cell of its neighbours.
Grid folded(const Grid& grid, int most_rows, int most_columns);
Grid folded(const Grid& grid, ColumnSpan columns, int most_rows, int most_columns);
/// Smallest and largest finite value; empty if there is none.
Range value_range(std::span<const float> values);
Range value_range(std::span<const double> values);
/// Quantile range of the finite values, which a single outlier cannot stretch.
Range robust_range(std::span<const float> values, double low_quantile, double high_quantile);

}  // namespace app::plot
