// A tap acts once, however slow the frames are; a key that the desktop repeats acts with each
// repeat.
#include "app/gui/shell/key_repeat.h"

#include <GLFW/glfw3.h>
#include <gtest/gtest.h>
#include <imgui.h>

#include <string>
#include <vector>

namespace app {
namespace {

class KeyRepeat : public ::testing::TestWithParam<float> {
 protected:
  KeyRepeat() {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = {800, 600};
#if IMGUI_VERSION_NUM < 18700
    io.KeyMap[ImGuiKey_Tab] = GLFW_KEY_TAB;
#endif
    unsigned char* pixels = nullptr;
    int width = 0;
    int height = 0;
    io.Fonts->GetTexDataAsAlpha8(&pixels, &width, &height);
  }
  ~KeyRepeat() override { ImGui::DestroyContext(); }

  static void set_down(bool down) {
#if IMGUI_VERSION_NUM < 18700
    ImGui::GetIO().KeysDown[GLFW_KEY_TAB] = down;
#else
    ImGui::GetIO().AddKeyEvent(ImGuiKey_Tab, down);
#endif
  }

  /// Whether Tab acts in each frame of as many as there are letters: p = its press arrives, r = a
  /// repeat, u = its release, . = nothing.
  static std::string acts(const std::string& frames) {
    std::string seen;
    for (const char what : frames) {
      std::vector<InputEvent> taken;
      const auto add = [&](int action) {
        taken.emplace_back(KeyInput{.key = GLFW_KEY_TAB, .action = action});
      };
      if (what == 'p') add(GLFW_PRESS);
      if (what == 'r') add(GLFW_REPEAT);
      if (what == 'u') add(GLFW_RELEASE);
      if (what == 'p' || what == 'u') set_down(what == 'p');
      ImGui::GetIO().DeltaTime = GetParam();
      follow_key_repeats(taken);
      ImGui::NewFrame();
      seen += ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Tab)) ? 'x' : '.';
      ImGui::Render();
    }
    return seen;
  }
};

TEST_P(KeyRepeat, ATapActsOnceUntilItsReleaseIsRead) {
  EXPECT_EQ(acts(".p......u.p.u"), ".x........x..");
}

TEST_P(KeyRepeat, EachRepeatOfTheDesktopActsOnce) {
  EXPECT_EQ(acts("p..r.rr...r..u.p.u"), "x..x.xx...x....x..");
  EXPECT_EQ(acts("prru"), "xxx.");
}

INSTANTIATE_TEST_SUITE_P(Frames, KeyRepeat, ::testing::Values(0.001F, 1.0F / 60, 0.1F, 0.3F, 2.0F));

}  // namespace
}  // namespace app
