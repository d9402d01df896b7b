// A text field in a window without a screen: what is entered is cut where it is entered.
#include "app/gui/controls/text_field.h"

#include <gtest/gtest.h>
#include <imgui.h>

#include <string>

namespace app::controls {
namespace {

class TextField : public ::testing::Test {
 protected:
  TextField() {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = {800, 600};
    io.DeltaTime = 1.0F / 60.0F;
#if IMGUI_VERSION_NUM >= 18700
    io.ConfigInputTrickleEventQueue = false;  // all of the text in one frame, as it is pasted
#endif
    unsigned char* pixels = nullptr;
    int width = 0;
    int height = 0;
    io.Fonts->GetTexDataAsAlpha8(&pixels, &width, &height);
  }
  ~TextField() override { ImGui::DestroyContext(); }

  void frame(const std::string& entered, int most_bytes = kMaxTypedBytes) {
    ImGui::GetIO().AddInputCharactersUTF8(entered.c_str());
    ImGui::NewFrame();
    ImGui::SetNextWindowFocus();
    ImGui::Begin("window");
    if (ImGui::GetFrameCount() < 3) ImGui::SetKeyboardFocusHere();
    text_field("##field", "", text_, 0, most_bytes);
    ImGui::End();
    ImGui::Render();
  }

  std::string text_;
};

TEST_F(TextField, KeepsWhatIsEntered) {
  for (int i = 0; i < 3; ++i) frame("");
  frame("run 8 experts");
  frame("");
  EXPECT_EQ(text_, "run 8 experts");
}

TEST_F(TextField, CutsAMegabyteWhereItIsEntered) {
  for (int i = 0; i < 3; ++i) frame("");
  frame(std::string(1 << 20, 'x'));
  EXPECT_EQ(text_, std::string(kMaxTypedBytes, 'x'));
  frame("y");
  EXPECT_EQ(text_, std::string(kMaxTypedBytes, 'x'));
}

TEST_F(TextField, IsFullWhereACharacterMayBeLeftOut) {
  for (int i = 0; i < 3; ++i) frame("", 8);
  frame("abcd", 8);
  EXPECT_FALSE(is_full(text_, 8)) << "any character still has room";
  frame("ef", 8);
  EXPECT_TRUE(is_full(text_, 8));
  frame("\u20AC", 8);  // of three bytes
  EXPECT_EQ(text_, "abcdef");
  EXPECT_TRUE(is_full(text_, 8));
}

TEST_F(TextField, CutsBetweenCharacters) {
  for (int i = 0; i < 3; ++i) frame("", 5);
  frame("\u00e4\u00e4\u00e4\u00e4", 5);
  EXPECT_EQ(text_, "\u00e4\u00e4");
}

}  // namespace
}  // namespace app::controls
