// Which frames the window draws.
#include "app/gui/shell/presented_frame.h"

#include <gtest/gtest.h>
#include <imgui.h>

namespace app {
namespace {

class PresentedFrameTest : public testing::Test {
 protected:
  PresentedFrameTest() : context_(ImGui::CreateContext()) {
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = ImVec2(200, 100);
    unsigned char* pixels = nullptr;
    int width = 0;
    int height = 0;
    io.Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
  }
  ~PresentedFrameTest() override { ImGui::DestroyContext(context_); }

  /// Whether a frame with a box that ends here and has this colour is drawn.
  bool drawn(float right, ImU32 color, int height = 100, ImU32 background = 0) {
    ImGui::NewFrame();
    ImGui::GetBackgroundDrawList()->AddRectFilled(ImVec2(10, 10), ImVec2(right, 20), color);
    ImGui::Render();
    return frame_.changes_to(*ImGui::GetDrawData(), 200, height, background);
  }

  ImGuiContext* context_;
  PresentedFrame frame_;
};

TEST_F(PresentedFrameTest, OnlyOneThatLooksLikeTheOneBeforeIsNotDrawn) {
  EXPECT_TRUE(drawn(50, IM_COL32_WHITE));
  EXPECT_FALSE(drawn(50, IM_COL32_WHITE));
  EXPECT_TRUE(drawn(51, IM_COL32_WHITE));
  EXPECT_TRUE(drawn(51, IM_COL32_BLACK));
  EXPECT_TRUE(drawn(51, IM_COL32_BLACK, 99));
  EXPECT_TRUE(drawn(51, IM_COL32_BLACK, 99, IM_COL32_WHITE));
  EXPECT_FALSE(drawn(51, IM_COL32_BLACK, 99, IM_COL32_WHITE));
}

TEST_F(PresentedFrameTest, LostPixelsAreDrawnAgain) {
  EXPECT_TRUE(drawn(50, IM_COL32_WHITE));
  frame_.lost();
  EXPECT_TRUE(drawn(50, IM_COL32_WHITE));
}

}  // namespace
}  // namespace app
