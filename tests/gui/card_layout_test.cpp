// Cards are on whole pixels, fill their area and keep the gap.
#include "app/gui/cards/card_layout.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {

TEST(CardLayoutTest, ColumnsFillTheAreaWithGapsBetween) {
  const app::Area area{ImVec2(10, 20), ImVec2(1001, 300)};
  const std::vector<app::Area> parts = app::columns_of(area, 8, {1, 2, 1});
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts.front().at.x, 10.0F);
  EXPECT_EQ(parts.back().end().x, area.end().x);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].at.x, std::floor(parts[i].at.x));
    EXPECT_EQ(parts[i].size.y, 300.0F);
    if (i > 0) {
      EXPECT_EQ(parts[i].at.x, parts[i - 1].end().x + 8);
    }
  }
  EXPECT_EQ(parts[1].size.x, std::floor(985.0F / 2));
}

TEST(CardLayoutTest, RowsTakeRelativeShares) {
  const std::vector<app::Area> parts = app::rows_of({ImVec2(0, 0), ImVec2(100, 104)}, 4, {30, 70});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].size.y, 30.0F);
  EXPECT_EQ(parts[1].at.y, 34.0F);
  EXPECT_EQ(parts[1].size.y, 70.0F);
}

TEST(CardLayoutTest, OnePartIsTheArea) {
  const std::vector<app::Area> parts = app::columns_of({ImVec2(3, 4), ImVec2(5, 6)}, 8, {0.5F});
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].size.x, 5.0F);
}

}  // namespace
