// Folding of heatmaps: the slow cell stays visible, missing stays missing.
#include "app/gui/plot/grid_fold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace app::plot {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

TEST(GridFold, SmallGridsStayAsTheyAre) {
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

TEST(GridFold, RangesIgnoreWhatIsNotFinite) {
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
