// The mouse finds the nearest mark, and only one that is drawn and within reach. What has a name.
#include "app/gui/plot/marks.h"

#include <gtest/gtest.h>

#include "tests/gui/unseen_window.h"

namespace app::plot {
namespace {

// 10 pixels per unit; y grows upwards.
const AxisMap kX{{0.0, 10.0}, 0.0, 100.0};
const AxisMap kY{{0.0, 10.0}, 100.0, 0.0};

Marks two_lists() {
  return {Line{.points = {{0.0, 0.0}, {10.0, 10.0}}},
          Dots{.dots = {{.at = {2.0, 2.0}}, {.at = kNowhere}, {.at = {3.0, 2.0}}}, .reach = 12.0F},
          Dots{.dots = {{.at = {8.0, 8.0}}}, .reach = 4.0F}};
}

void expect_hit(ImVec2 mouse, int mark, int index, float scale = 1.0F) {
  const MarkHit hit = find_mark(kX, kY, mouse, scale, two_lists());
  EXPECT_EQ(hit.mark, mark) << mouse.x << " " << mouse.y;
  EXPECT_EQ(hit.index, index) << mouse.x << " " << mouse.y;
}

TEST(Marks, TheNearestDotIsFoundAndNotTheFirstWithinReach) {
  expect_hit({21, 80}, 1, 0);
  // Both are within reach.
  expect_hit({26, 80}, 1, 2);
  expect_hit({24, 80}, 1, 0);
}

TEST(Marks, ADotIsFoundUpToTheReachOfItsMark) {
  expect_hit({41, 80}, 1, 2);
  expect_hit({43, 80}, -1, -1);
  expect_hit({83, 20}, 2, 0);
  expect_hit({85, 20}, -1, -1);
  // The reach grows with the text.
  expect_hit({85, 20}, 2, 0, 1.5F);
}

TEST(Marks, ADotThatIsNowhereAndALineAreNotFound) {
  expect_hit({0, 80}, -1, -1);
  expect_hit({50, 50}, -1, -1);
}

TEST(Marks, ADotOutsideTheViewIsNotFoundAtItsEdge) {
  const AxisMap zoomed{{5.0, 10.0}, 0.0, 100.0};
  EXPECT_EQ(find_mark(zoomed, kY, {0, 80}, 1.0F, two_lists()).mark, -1);
}

TEST(Marks, BarsAreFoundByColumnAndDotsOverThemFirst) {
  const std::vector<Bar> bars(8);  // two side by side for each of four items
  Marks marks = {Bars{.bars = &bars, .per_item = 2}};
  EXPECT_EQ(find_mark(kX, kY, {24, 5}, 1.0F, marks).index, 2);
  EXPECT_EQ(find_mark(kX, kY, {25, 5}, 1.0F, marks).index, 3);
  EXPECT_EQ(find_mark(kX, kY, {36, 5}, 1.0F, marks).index, -1);
  marks.push_back(Dots{.dots = {{.at = {2.0, 9.0}}}});
  EXPECT_EQ(find_mark(kX, kY, {24, 5}, 1.0F, marks).mark, 1);
  EXPECT_EQ(find_mark(kX, kY, {24, 90}, 1.0F, marks).mark, 0);
}

/// Vertices that a plot of this rule consists of.
int vertices_of(const Rule& rule) {
  UnseenWindow window;
  PlotView view;
  int vertices = 0;
  window.frame([&](const PanelContext& context) {
    const PlotFrame frame(context,
                          {.id = "##plot",
                           .size = {400, 300},
                           .x = {.limits = {0.0, 10.0}},
                           .y = {.limits = {0.0, 10.0}}},
                          view);
    draw_marks(context, frame, {rule});
    vertices = frame.draw()->VtxBuffer.Size;
  });
  return vertices;
}

TEST(Marks, OnlyALevelRuleIsNamed) {
  EXPECT_GT(vertices_of({.at = 4.0, .color = IM_COL32_WHITE, .label = "level"}),
            vertices_of({.at = 4.0, .color = IM_COL32_WHITE}));
  EXPECT_EQ(vertices_of({.at = 4.0, .color = IM_COL32_WHITE, .upright = true, .label = "upright"}),
            vertices_of({.at = 4.0, .color = IM_COL32_WHITE, .upright = true}));
}

}  // namespace
}  // namespace app::plot
