// Where a wrapped text is broken, and what is left out of one that has no room.
#include "app/gui/theme/text.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "app/gui/theme/fitted_lines.h"

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

TEST_F(WrappedText, AKernelIsShortenedBeforeTheWorkThatItDoes) {
  const std::string name = "wgrad up  nvjet_sm90_qqtst_128x256_TNT";
  EXPECT_EQ(fitted_work(font_, name, width_of(name)), name);
  const std::string some = fitted_work(font_, name, width_of("wgrad up  nvjet_sm90...128_TNT"));
  EXPECT_TRUE(some.starts_with("wgrad up  nvjet")) << some;
  EXPECT_TRUE(some.ends_with("TNT")) << some;
  // What would be left of the kernel says nothing; "up" says which wgrad it is.
  EXPECT_EQ(fitted_work(font_, name, width_of("wgrad up  nvj")), "wgrad up...");
  EXPECT_EQ(fitted_work(font_, "quantize X, rowwise and columnwise", width_of("quantize X...")),
            "quantize X...");
  EXPECT_EQ(fitted_work(font_, "wgrad up", width_of("wgrad")),
            fitted_middle(font_, "wgrad up", width_of("wgrad")));
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

TEST_F(WrappedText, OfPartsTheLastAreLeftOut) {
  const std::string text = "n 10 \u00b7 warm, sustained \u00b7 steady clock around each step";
  const auto at = [&](const std::string& widest, std::size_t lines) {
    return fitted_lines(font_, text, width_of(widest) + 1, lines);
  };
  EXPECT_EQ(at(text, 1).lines, std::vector<std::string>{text});
  EXPECT_TRUE(at(text, 1).whole);
  // A second line is used before anything is left out; neither begins nor ends with a separator.
  const FittedLines two = at("steady clock around each step", 2);
  EXPECT_EQ(two.text(), "n 10 \u00b7 warm, sustained\nsteady clock around each step");
  EXPECT_TRUE(two.whole);
  EXPECT_EQ(at("n 10 \u00b7 warm, sustained ...", 1).text(), "n 10 \u00b7 warm, sustained ...");
  EXPECT_EQ(at("n 10 \u00b7 warm, ...", 1).text(), "n 10 ...");
  EXPECT_EQ(at("sustained ...", 2).text(), "n 10 \u00b7 warm,\nsustained ...");
  EXPECT_FALSE(at("sustained ...", 2).whole);
}

TEST_F(WrappedText, EveryLineFitsAndWhatIsMissingIsSaid) {
  for (const std::string text : {"n 10 \u00b7 warm, sustained \u00b7 steady clock around each step",
                                 "wgrad up  nvjet_qqtst_128x128_128x6_TNN \u00b7 largest sum",
                                 "one part of many words and no separator"}) {
    for (const std::size_t most : {1, 2, 3}) {
      for (float width = width_of("sustained ..."); width < width_of(text) + 5; width += 3) {
        const FittedLines shown = fitted_lines(font_, text, width, most);
        ASSERT_LE(shown.lines.size(), most) << text << width;
        for (const std::string& line : shown.lines) EXPECT_LE(width_of(line), width) << line;
        const bool says_so = shown.text().find("...") != std::string::npos;
        EXPECT_EQ(shown.whole, !says_so) << shown.text() << " at " << width;
        EXPECT_TRUE(width < width_of(text) || shown.text() == text) << shown.text();
      }
    }
  }
}

TEST_F(WrappedText, TheTooltipOfACutTextHasTheWholeFirst) {
  EXPECT_EQ(with_whole("a...", "a name", "what it is"), "a name\nwhat it is");
  EXPECT_EQ(with_whole("a...", "a name"), "a name");
  EXPECT_EQ(with_whole("a name", "a name", "what it is"), "what it is");
  EXPECT_EQ(with_whole("", "a name", ""), "a name");
}

}  // namespace
}  // namespace app
