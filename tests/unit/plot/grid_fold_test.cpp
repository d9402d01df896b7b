// Folding of heatmaps: the slow cell stays visible, missing stays missing.
#include "app/plot/grid_fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace app::plot {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

TEST(GridFold, SmallGridsAreUnchanged) {
  const Grid grid{.rows = 1, .columns = 2, .values = {1.0F, 2.0F}};
  EXPECT_EQ(folded(grid, 2, 2).values, grid.values);
}

TEST(GridFold, KeepsTheLargest) {
  Grid grid{.rows = 1, .columns = 1000, .values = std::vector<float>(1000, 1.0F)};
  grid.values[537] = 9.0F;
  const Grid small = folded(grid, 10, 10);
  ASSERT_EQ(small.columns, 10);
  EXPECT_FLOAT_EQ(small.at(0, 5), 9.0F);
  EXPECT_FLOAT_EQ(small.at(0, 4), 1.0F);
}

TEST(GridFold, MissingOnlyWhereAllIsMissing) {
  const Grid grid{.rows = 1, .columns = 4, .values = {kMissing, kMissing, kMissing, 3.0F}};
  const Grid small = folded(grid, 2, 2);
  EXPECT_TRUE(std::isnan(small.at(0, 0)));
  EXPECT_FLOAT_EQ(small.at(0, 1), 3.0F);
}

TEST(GridFold, ColumnsInViewOnly) {
  const Grid grid{.rows = 1, .columns = 6, .values = {9.0F, 1.0F, 2.0F, 3.0F, 4.0F, 9.0F}};
  EXPECT_EQ(folded(grid, {1, 5}, 1, 2).values, (std::vector<float>{2.0F, 4.0F}));
  EXPECT_EQ(folded(grid, {1, 5}, 1, 100).values, (std::vector<float>{1.0F, 2.0F, 3.0F, 4.0F}));
  EXPECT_TRUE(folded(grid, {3, 3}, 1, 2).values.empty());
}

/// A plot that is narrower than its margins, and one whose view is that of an earlier run.
TEST(GridFold, ANegativeSizeHasNoCells) {
  const Grid grid{.rows = 2, .columns = 3, .values = std::vector<float>(6, 1.0F)};
  for (const int most : {-1, -55, std::numeric_limits<int>::min()}) {
    EXPECT_TRUE(folded(grid, {0, 3}, 2, most).values.empty());
    EXPECT_TRUE(folded(grid, {0, 3}, most, 3).values.empty());
    EXPECT_TRUE(folded(grid, most, most).values.empty());
  }
  EXPECT_TRUE(folded(grid, {60, 5}, 2, 3).values.empty());
  EXPECT_TRUE(folded({}, {0, 3}, 2, 3).values.empty());
}

TEST(GridFold, AnyViewShowsColumnsThatExist) {
  EXPECT_EQ(shown_columns(1.2, 3.5, 6), (ColumnSpan{1, 4}));
  EXPECT_EQ(shown_columns(-2.0, 9.0, 6), (ColumnSpan{0, 6}));
  EXPECT_EQ(shown_columns(0.0, 1.0, 0), ColumnSpan{});
  const double values[] = {-1e300, -7.0, 0.0, 2.0, 6.0, 60.0, 1e300, double{kMissing}};
  for (const double from : values) {
    for (const double to : values) {
      const ColumnSpan span = shown_columns(from, to, 6);
      EXPECT_LE(0, span.first) << from << ' ' << to;
      EXPECT_LT(span.first, span.last) << from << ' ' << to;
      EXPECT_LE(span.last, 6) << from << ' ' << to;
    }
  }
}

TEST(GridFold, CoarserLevelsNeverHideTheLargest) {
  constexpr int kColumns = 100'000;
  Grid grid{.rows = 2, .columns = kColumns, .values = {}};
  grid.values.assign(2 * std::size_t{kColumns}, 1.0F);
  grid.values[77'777] = 9.0F;
  grid.values[kColumns + 3] = kMissing;
  add_coarser(grid);
  ASSERT_EQ(grid.coarser.size(), 2U);
  for (const ColumnSpan span : {ColumnSpan{0, kColumns}, ColumnSpan{70'001, 90'003},
                                ColumnSpan{77'000, 78'000}, ColumnSpan{77'777, 77'778}}) {
    for (const int most : {1, 13, 1000}) {
      const Grid small = folded(grid, span, 2, most);
      ASSERT_EQ(small.columns, std::min(most, span.last - span.first));
      const double cell = static_cast<double>(span.last - span.first) / small.columns;
      const int at = static_cast<int>((77'777 - span.first) / cell);
      // Within one cell of its place, and once.
      float near = 0.0F;
      for (int column = std::max(0, at - 1); column <= std::min(at + 1, small.columns - 1);
           ++column) {
        near = std::max(near, small.at(0, column));
      }
      EXPECT_FLOAT_EQ(near, 9.0F);
      EXPECT_DOUBLE_EQ(
          value_range(std::span(small.values).subspan(static_cast<std::size_t>(small.columns))).max,
          1.0);
    }
  }
}

TEST(GridFold, RangesIgnoreNonFiniteValues) {
  const std::vector<float> values = {kMissing, 2.0F, -1.0F, INFINITY};
  EXPECT_EQ(value_range(values), (Range{-1.0, 2.0}));
}

TEST(GridFold, RobustRangeIgnoresOneOutlier) {
  std::vector<float> values(1000, 1.0F);
  values[3] = 100.0F;
  EXPECT_LT(robust_range(values, 0.01, 0.99).max, 2.0);
}

}  // namespace
}  // namespace app::plot
