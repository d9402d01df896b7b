// The mouse finds the nearest mark, and only one that is drawn and within reach. What has a name.
#include "app/gui/plot/marks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "app/gui/plot/companion_scale.h"
#include "app/gui/plot/plot_text.h"
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

TEST(Marks, CompanionsAreScaledToTheBarsAndNotToAWhisker) {
  std::vector<Bar> bars = {{.value = 0.8e6, .low = 0.7e6, .high = 3.1e6, .companion = 1024.0},
                           {.value = 0.4e6, .low = 0.4e6, .high = 0.4e6, .companion = 512.0},
                           {.value = std::nan(""), .companion = 256.0}};
  EXPECT_DOUBLE_EQ(companion_scale(bars) * 1024.0, 0.8e6) << "as high as the highest bar";
  EXPECT_EQ(companion_words("rows", bars), "rows, own scale: 256 to 1 024");
  for (Bar& bar : bars) bar.companion = 1024.0;
  EXPECT_EQ(companion_words("rows", bars), "rows, own scale: all 1 024");
  for (Bar& bar : bars) bar.companion = 0.0;
  EXPECT_EQ(companion_scale(bars), 0.0);
  EXPECT_EQ(companion_scale({}), 0.0);
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

/// A frame with the pointer at this place; returns what is said there.
template <class Draw>
std::string said_at(UnseenWindow& window, ImVec2 mouse, const Draw& draw) {
  // ImGui knows the window under the pointer from the frame before.
  for (int frame = 0; frame < 2; ++frame) {
    ImGui::GetIO().MousePos = mouse;
    window.frame(draw);
  }
  return window.controls.tooltip();
}

TEST(CutTexts, ANameInALegendIsWholeInItsTooltip) {
  UnseenWindow window;
  const std::string name = "FP8 block, FP32 scales, columnwise, of the weights";
  const auto draw = [&](const PanelContext& context) {
    draw_legend(context, {.id = "legend", .right = {300, 100}, .left = 150, .gap = 8},
                {{name, IM_COL32_WHITE}, {"short", IM_COL32_WHITE}});
  };
  const ImVec2 middle(200, 105);
  EXPECT_EQ(said_at(window, middle, draw), name);
  EXPECT_EQ(said_at(window, {290, 100 + 1.5F * window.theme.fonts.label->FontSize + 2}, draw), "")
      << "this one is not cut";
  EXPECT_EQ(said_at(window, {500, 400}, draw), "");
}

TEST(CutTexts, TitlesOfAxesAreWholeInTheirTooltips) {
  UnseenWindow window;
  PlotView view;
  const std::string height = "records of all kernels with this name, in a bin of the time axis";
  const auto draw = [&](const PanelContext& context) {
    ImGui::SetCursorScreenPos({100, 100});
    // Too low for a title in a line of its own.
    const PlotFrame frame(context,
                          {.id = "##plot",
                           .size = {200, 80},
                           .x = {.kind = AxisKind::Integer,
                                 .label = "number of the replay, of all",
                                 .limits = {0.0, 10.0}},
                           .y = {.label = height, .limits = {0.0, 1.0}}},
                          view);
  };
  EXPECT_EQ(said_at(window, {150, 105}, draw), height);
  EXPECT_EQ(said_at(window, {290, 175}, draw), "number of the replay, of all");
  EXPECT_EQ(said_at(window, {110, 175}, draw), "");
}

TEST(Marks, APointWhoseNameHasNoRoomHasWhatStandsForIt) {
  UnseenWindow window;
  PlotView view;
  Dots dots{.leader = 220.0F};
  for (int i = 0; i < 40; ++i) {
    dots.dots.push_back({.at = {0.2 + 0.015 * i, 0.5 + 0.002 * (i % 7)},
                         .name = "a name that is as long as the plot is wide, and longer",
                         .brief = std::to_string(i + 1),
                         .id = "dot." + std::to_string(i)});
  }
  window.frame([&](const PanelContext& context) {
    const PlotFrame frame(
        context,
        {.id = "##plot", .size = {300, 300}, .x = {.limits = {0, 1}}, .y = {.limits = {0, 1}}},
        view);
    draw_marks(context, frame, {dots});
  });
  std::size_t briefs = 0;
  for (const ControlEntry& one : window.controls.entries()) {
    EXPECT_FALSE(one.id.ends_with(".name")) << "there is no room";
    if (!one.id.ends_with(".brief")) continue;
    ++briefs;
    EXPECT_EQ("dot." + std::to_string(std::stoi(one.label) - 1) + ".brief", one.id);
  }
  EXPECT_GE(briefs, 32U) << "of 40, some of which lie on top of others";
}

}  // namespace
}  // namespace app::plot
