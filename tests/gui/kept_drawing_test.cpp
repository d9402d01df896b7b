// A kept drawing produces exactly the triangles that drawing again would.
#include "app/gui/plot/kept_drawing.h"

// After imgui.h, for the data that draw lists share.
#include <imgui_internal.h>

#include <gtest/gtest.h>

#include <limits>

namespace app::plot {
namespace {

class KeptDrawingTest : public ::testing::Test {
 protected:
  void begin(ImDrawList& list) const {
    list._ResetForNewFrame();
    list.PushTextureID(nullptr);
    list.PushClipRect({0, 0}, {200, 100});
  }
  void put(ImDrawList& list, const DrawingKey& key, float right) {
    kept_.put(list, key, [&] {
      ++drawn_;
      list.AddRectFilled({10, 10}, {right, 20}, IM_COL32(1, 2, 3, 255));
      list.AddLine({10, 50}, {right, 60}, IM_COL32(4, 5, 6, 255));
    });
  }

  ImDrawListSharedData shared_{};
  Theme theme_{};
  KeptDrawing kept_;
  int drawn_ = 0;
};

void expect_same(const ImDrawList& a, const ImDrawList& b) {
  ASSERT_EQ(a.VtxBuffer.Size, b.VtxBuffer.Size);
  ASSERT_EQ(a.IdxBuffer.Size, b.IdxBuffer.Size);
  for (int i = 0; i < a.VtxBuffer.Size; ++i) {
    EXPECT_EQ(a.VtxBuffer[i].pos.x, b.VtxBuffer[i].pos.x) << i;
    EXPECT_EQ(a.VtxBuffer[i].pos.y, b.VtxBuffer[i].pos.y) << i;
    EXPECT_EQ(a.VtxBuffer[i].col, b.VtxBuffer[i].col) << i;
  }
  for (int i = 0; i < a.IdxBuffer.Size; ++i) EXPECT_EQ(a.IdxBuffer[i], b.IdxBuffer[i]) << i;
}

TEST_F(KeptDrawingTest, AppendsTheTrianglesAfterEarlierDrawing) {
  ImDrawList first(&shared_);
  begin(first);
  put(first, DrawingKey(theme_, 1), 40);
  // In the next frame something else is drawn before and after it.
  ImDrawList again(&shared_);
  ImDrawList fresh(&shared_);
  for (ImDrawList* list : {&again, &fresh}) {
    begin(*list);
    list->AddTriangleFilled({0, 0}, {5, 0}, {0, 5}, IM_COL32_WHITE);
  }
  put(again, DrawingKey(theme_, 1), 40);
  EXPECT_EQ(drawn_, 1);
  kept_ = {};
  put(fresh, DrawingKey(theme_, 1), 40);
  EXPECT_EQ(drawn_, 2);
  for (ImDrawList* list : {&again, &fresh}) list->AddRectFilled({0, 0}, {9, 9}, IM_COL32_WHITE);
  expect_same(again, fresh);
}

TEST_F(KeptDrawingTest, RedrawsWhenAnyPartOfTheKeyChanges) {
  ImDrawList list(&shared_);
  begin(list);
  const double none = std::numeric_limits<double>::quiet_NaN();
  const auto key = [&](std::uint64_t generation, Range view, double median, const char* label) {
    return DrawingKey(theme_, generation, view, median, std::string_view(label));
  };
  put(list, key(1, {0, 10}, none, "ms"), 40);
  put(list, key(1, {0, 10}, none, "ms"), 40);
  EXPECT_EQ(drawn_, 1) << "a missing value equals itself";
  put(list, key(2, {0, 10}, none, "ms"), 40);
  put(list, key(2, {0, 11}, none, "ms"), 40);
  put(list, key(2, {0, 11}, 5.0, "ms"), 40);
  put(list, key(2, {0, 11}, 5.0, "us"), 40);
  theme_.kind = ThemeKind::Light;
  put(list, key(2, {0, 11}, 5.0, "us"), 40);
  theme_.scale = 1.5F;
  put(list, key(2, {0, 11}, 5.0, "us"), 40);
  EXPECT_EQ(drawn_, 7);
}

TEST_F(KeptDrawingTest, RedrawsInAnotherClipRectangle) {
  ImDrawList list(&shared_);
  begin(list);
  put(list, DrawingKey(theme_, 1), 40);
  list.PushClipRect({0, 0}, {30, 100}, true);
  put(list, DrawingKey(theme_, 1), 40);
  EXPECT_EQ(drawn_, 2);
}

TEST_F(KeptDrawingTest, KeepsNothingOfADrawingThatChangedItsClipRectangle) {
  ImDrawList list(&shared_);
  begin(list);
  for (int i = 0; i < 2; ++i) {
    kept_.put(list, DrawingKey(theme_, 1), [&] {
      ++drawn_;
      list.PushClipRect({0, 0}, {30, 100}, true);
      list.AddRectFilled({1, 1}, {2, 2}, IM_COL32_WHITE);
      list.PopClipRect();
      list.AddRectFilled({1, 1}, {2, 2}, IM_COL32_WHITE);
    });
  }
  EXPECT_EQ(drawn_, 2);
}

}  // namespace
}  // namespace app::plot
