// View transform: what the mouse does to an axis, without a window.
#include "app/plot/range.h"

#include <gtest/gtest.h>

#include <limits>

namespace app::plot {
namespace {

TEST(Range, ZoomKeepsTheValueUnderTheCursor) {
  const Range limits{0.0, 1000.0};
  const Range view = zoomed({100.0, 500.0}, 200.0, 0.5, limits, 1.0);
  EXPECT_DOUBLE_EQ(view.span(), 200.0);
  // 200 lay at a quarter of the view and still does.
  EXPECT_DOUBLE_EQ((200.0 - view.min) / view.span(), 0.25);
}

TEST(Range, ZoomStopsAtTheLimitsAndAtTheSmallestSpan) {
  const Range limits{0.0, 1000.0};
  EXPECT_EQ(zoomed({100.0, 900.0}, 500.0, 10.0, limits, 1.0), limits);
  EXPECT_DOUBLE_EQ(zoomed({100.0, 102.0}, 101.0, 1e-6, limits, 1.0).span(), 1.0);
}

TEST(Range, IsWidenedByFiniteValuesOnly) {
  EXPECT_FALSE(has_values(kNoValues));
  EXPECT_EQ(widened(kNoValues, 3.0), (Range{3.0, 3.0}));
  EXPECT_TRUE(has_values(widened(kNoValues, 3.0)));
  EXPECT_EQ(widened({3.0, 3.0}, -1.0), (Range{-1.0, 3.0}));
  EXPECT_EQ(widened({-1.0, 3.0}, 2.0), (Range{-1.0, 3.0}));
  for (const double nothing :
       {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(widened({-1.0, 3.0}, nothing), (Range{-1.0, 3.0}));
    EXPECT_FALSE(has_values(widened(kNoValues, nothing)));
  }
}

TEST(Range, PanStopsAtTheLimitsWithoutChangingTheSpan) {
  const Range limits{0.0, 100.0};
  EXPECT_EQ(panned({10.0, 30.0}, -50.0, limits), (Range{0.0, 20.0}));
  EXPECT_EQ(panned({10.0, 30.0}, 500.0, limits), (Range{80.0, 100.0}));
  EXPECT_EQ(panned({-20.0, 130.0}, 3.0, limits), limits);
}

TEST(Range, AxisMapIsItsOwnInverseOnNanosecondsOfAnHour) {
  const double hour = 3.6e12;
  const AxisMap axis{{hour, hour + 100.0}, 50.0, 1050.0};
  EXPECT_FLOAT_EQ(axis.to_pixel(hour + 1.0), 60.0F);
  EXPECT_DOUBLE_EQ(axis.to_value(60.0), hour + 1.0);
}

TEST(Range, AxisMapClipsFarOutsideValues) {
  const AxisMap axis{{0.0, 1.0}, 0.0, 100.0};
  EXPECT_LT(axis.to_pixel(1e12), 200.0F);
  EXPECT_GT(axis.to_pixel(-1e12), -100.0F);
}

TEST(Range, FlippedAxisGrowsUpwards) {
  const AxisMap axis{{0.0, 10.0}, 200.0, 100.0};
  EXPECT_FLOAT_EQ(axis.to_pixel(0.0), 200.0F);
  EXPECT_FLOAT_EQ(axis.to_pixel(10.0), 100.0F);
}

TEST(Range, BetweenOrdersADragToTheLeft) { EXPECT_EQ(between(5.0, 2.0), (Range{2.0, 5.0})); }

TEST(Range, ClampedFallsBackToTheLimitsWhenNothingOverlaps) {
  EXPECT_EQ(clamped({50.0, 60.0}, {0.0, 10.0}), (Range{0.0, 10.0}));
  EXPECT_EQ(clamped({5.0, 60.0}, {0.0, 10.0}), (Range{5.0, 10.0}));
}

}  // namespace
}  // namespace app::plot
