// Where a wrapped text is broken.
#include "app/gui/theme/text.h"

#include <gtest/gtest.h>

#include <string>

namespace app {
namespace {

class WrappedText : public ::testing::Test {
 protected:
  void SetUp() override {
    font_ = atlas_.AddFontDefault();
    atlas_.Build();
  }
  std::string at(const std::string& text, float wrap) {
    return broken_at_spaces(font_, text, wrap);
  }
  float width_of(const std::string& text) { return shown_size(font_, text).x; }

  ImFontAtlas atlas_;
  ImFont* font_ = nullptr;
};

TEST_F(WrappedText, AVersionStaysOnOneLine) {
  const std::string text = "needs cuBLASLt 13.10.0.20 or newer";
  for (float wrap = width_of("13.10.0.20") + 1; wrap < width_of(text); wrap += 3) {
    EXPECT_NE(at(text, wrap).find("13.10.0.20"), std::string::npos) << wrap;
    // The size is that of the text as it is drawn.
    EXPECT_LE(shown_size(font_, text, wrap).x, wrap);
  }
  EXPECT_EQ(at(text, width_of(text) + 1), text);
}

TEST_F(WrappedText, LinesAndSpacesStay) {
  EXPECT_EQ(at("one 1.5\ntwo", 1000), "one 1.5\ntwo");
  EXPECT_EQ(at("a b", width_of("a") + 1), "a\nb");
  EXPECT_EQ(at("", 10), "");
  EXPECT_EQ(at("wide", 1), "wide");
  EXPECT_EQ(at("two  spaces", 1000), "two  spaces");
}

TEST_F(WrappedText, OfAPathTheEndIsKept) {
  const std::string path = "/data/größe/of/x.npy";
  EXPECT_EQ(fitted_end(font_, path, width_of(path)), path);
  EXPECT_EQ(fitted_end(font_, path, width_of(".../x.npy")), ".../x.npy");
  EXPECT_EQ(fitted_end(font_, path, 1), "");
  for (float width = width_of("...x"); width < width_of(path); width += 2) {
    const std::string end = fitted_end(font_, path, width);
    EXPECT_LE(width_of(end), width);
    EXPECT_TRUE(end.ends_with("y")) << end;
  }
}

TEST_F(WrappedText, OfASentenceWholeWordsAreKept) {
  const std::string text = "replays are wrong from replay 1 on";
  EXPECT_EQ(fitted_words(font_, text, width_of(text)), text);
  EXPECT_EQ(fitted_words(font_, text, width_of("replays are...") + 1), "replays are...");
  EXPECT_EQ(fitted_words(font_, text, width_of("replays are wr...")), "replays are...");
  for (float width = width_of("replays...") + 1; width < width_of(text); width += 3) {
    const std::string shown = fitted_words(font_, text, width);
    EXPECT_LE(width_of(shown), width) << shown;
    ASSERT_TRUE(shown.ends_with("...")) << shown;
    const std::string words = shown.substr(0, shown.size() - 3);
    EXPECT_TRUE(text.starts_with(words + " ")) << shown;
  }
  const std::string name = "nvjet_qqtst_128x128_TNN";
  EXPECT_EQ(fitted_words(font_, name, width_of("nvjet...TNN")),
            fitted_middle(font_, name, width_of("nvjet...TNN")));
  EXPECT_EQ(fitted_words(font_, text, 1), "");
}

TEST_F(WrappedText, OfALabelWhatFollowsTheCommaGoesFirst) {
  const std::string label = "6  quantize Wup, rowwise and columnwise";
  const auto wide = [this](const std::string& text) { return width_of(text) + 1; };
  EXPECT_EQ(fitted_label(font_, label, wide(label)), label);
  EXPECT_EQ(fitted_label(font_, label, wide("6  quantize Wup, rowwise")), "6  quantize Wup...");
  EXPECT_EQ(fitted_label(font_, "7  fprop up", wide("7  fprop up")), "7  fprop up");
  // Both ends, of what precedes the comma.
  EXPECT_TRUE(fitted_label(font_, label, wide("6  quantize")).ends_with("up"));
}

TEST_F(WrappedText, OfAKernelsNameBothEndsAreKept) {
  const std::string one = "nvjet_qqtst_128x128_128x6_2x1_v_bx_coopA_algo2_größe_TNN";
  const std::string other = "nvjet_qqtst_128x128_128x6_2x1_v_bx_coopA_algo2_größe_NTN";
  EXPECT_EQ(fitted_middle(font_, one, width_of(one)), one);
  for (float width = width_of("n...TNN") + 8; width < width_of(one); width += 3) {
    const std::string shown = fitted_middle(font_, one, width);
    EXPECT_LE(width_of(shown), width + 0.1F) << shown;
    EXPECT_TRUE(shown.starts_with("n")) << shown;
    EXPECT_NE(shown.find("..."), std::string::npos);
    EXPECT_TRUE(engine::is_shown_text(shown)) << shown;
    EXPECT_NE(shown, fitted_middle(font_, other, width));
  }
  EXPECT_EQ(fitted_middle(font_, one, 1), "");
}

}  // namespace
}  // namespace app
