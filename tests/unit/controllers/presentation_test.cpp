// The walk over the cards of all pages while presenting.
#include "app/controllers/presentation.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace app {
namespace {

using Place = Presentation::Place;

/// Draws a frame as the window would: every page has the given number of cards.
std::size_t frame(Presentation& shown, Page page, std::size_t cards, const char* view = "") {
  const std::size_t wanted = shown.follow(page, view);
  const std::size_t card = cards == 0 ? 0 : std::min(wanted, cards - 1);
  shown.drawn(card, cards);
  return card;
}

TEST(Presentation, WalksOverTheCardsAndThenToTheNextPage) {
  Presentation shown;
  EXPECT_FALSE(shown.on());
  shown.begin({.page = Page::Performance});
  EXPECT_TRUE(shown.on());
  EXPECT_EQ(frame(shown, Page::Performance, 2), 0U);
  EXPECT_EQ(shown.next(), std::nullopt);
  EXPECT_EQ(frame(shown, Page::Performance, 2), 1U);
  EXPECT_EQ(shown.next(), Place{Page::Numerics});
  EXPECT_EQ(shown.next(), std::nullopt) << "the page has not been drawn yet";
  EXPECT_EQ(frame(shown, Page::Numerics, 3), 0U);
  EXPECT_EQ(shown.previous(), Place{Page::Performance});
  EXPECT_EQ(frame(shown, Page::Performance, 2), 1U) << "backwards, a page begins with its last";
}

TEST(Presentation, EndsAtTheFirstAndTheLastCard) {
  Presentation shown;
  shown.begin({.page = Page::Performance});
  frame(shown, Page::Performance, 2);
  EXPECT_EQ(shown.previous(), std::nullopt);
  EXPECT_EQ(frame(shown, Page::Performance, 2), 0U);
  shown.begin({.page = Page::Compare});
  frame(shown, Page::Compare, 3);
  shown.last();
  EXPECT_EQ(frame(shown, Page::Compare, 3), 2U);
  EXPECT_EQ(shown.next(), std::nullopt);
  EXPECT_EQ(frame(shown, Page::Compare, 3), 2U);
  shown.last();
  EXPECT_EQ(shown.previous(), std::nullopt);
  EXPECT_EQ(frame(shown, Page::Compare, 3), 2U);
  shown.first();
  EXPECT_EQ(frame(shown, Page::Compare, 3), 0U);
}

TEST(Presentation, CountsAPageWithoutCardsAsOne) {
  Presentation shown;
  shown.begin({.page = Page::Graphs});
  frame(shown, Page::Graphs, 0);
  EXPECT_EQ(shown.next(), Place{Page::Compare});
}

TEST(Presentation, BeginsAnewWhereAnotherViewOrFewerCardsAreShown) {
  Presentation shown;
  shown.begin({.page = Page::Numerics});
  frame(shown, Page::Numerics, 4);
  shown.last();
  EXPECT_EQ(frame(shown, Page::Numerics, 4), 3U);
  EXPECT_EQ(frame(shown, Page::Numerics, 2), 1U);
  EXPECT_EQ(frame(shown, Page::Numerics, 4, "recipes"), 0U);
}

TEST(Presentation, WalksOverTheChosenCardsInTheirOrder) {
  Presentation shown;
  EXPECT_EQ(shown.begin({.page = Page::Graphs}, {{Page::Numerics, "layer", "layer.picture_card"},
                                                 {Page::Performance, "", "a"},
                                                 {Page::Performance, "", "b"}}),
            (Place{Page::Numerics, "layer"}));
  EXPECT_EQ(shown.previous(), std::nullopt);
  EXPECT_EQ(shown.next(), Place{Page::Performance});
  EXPECT_EQ(shown.chosen()[shown.chosen_index()].card, "a");
  EXPECT_EQ(shown.next(), Place{Page::Performance});
  EXPECT_EQ(shown.chosen()[shown.chosen_index()].card, "b");
  EXPECT_EQ(shown.next(), std::nullopt);
  EXPECT_EQ(shown.first(), (Place{Page::Numerics, "layer"}));
  EXPECT_EQ(shown.missed(), Place{Page::Performance}) << "an empty card is passed over";
  EXPECT_EQ(shown.last(), Place{Page::Performance});
  EXPECT_EQ(shown.missed(), Place{Page::Performance});
  EXPECT_EQ(shown.chosen_index(), 1U);
}

TEST(Presentation, WalksOverAllCardsIfNoChosenOneHasContent) {
  Presentation shown;
  shown.begin({.page = Page::Performance}, {{Page::Numerics, "", "a"}, {Page::Numerics, "", "b"}});
  for (int i = 0; i < 4; ++i) shown.missed();
  EXPECT_TRUE(shown.chosen().empty());
  shown.begin({.page = Page::Performance}, {{Page::Numerics, "", "a"}});
  shown.missed();
  EXPECT_TRUE(shown.chosen().empty());
}

TEST(Presentation, TextIsSmallerWhereACardWouldBeCut) {
  Presentation shown;
  EXPECT_EQ(shown.scale(), 1.0F);
  shown.begin({.page = Page::Performance});
  frame(shown, Page::Performance, 2);
  EXPECT_EQ(shown.scale(), kPresentedScale);
  shown.fit({.part = 0.8F});
  EXPECT_LT(shown.scale(), 0.8F * kPresentedScale);
  const float smaller = shown.scale();
  shown.fit({.part = 1.02F});
  EXPECT_EQ(shown.scale(), smaller) << "it does not flicker";
  shown.fit({.part = 0.1F});
  EXPECT_EQ(shown.scale(), 1.0F) << "never below the user's own";
  shown.next();
  EXPECT_EQ(shown.scale(), kPresentedScale);
}

TEST(Presentation, TextIsLargerWhereItWouldLeaveRoom) {
  Presentation shown;
  shown.begin({.page = Page::Performance});
  frame(shown, Page::Performance, 2);
  shown.fit({.part = 1.2F, .scrolls = true});
  EXPECT_GT(shown.scale(), 1.1F * kPresentedScale);
  shown.fit({.part = 100.0F, .scrolls = true});
  EXPECT_EQ(shown.scale(), kLargestPresentedScale);
  shown.fit({.part = 100.0F, .scrolls = true, .most = 2.0F});
  EXPECT_EQ(shown.scale(), 2.0F) << "a narrow window";
  shown.fit({.part = 0.1F, .scrolls = true});
  EXPECT_EQ(shown.scale(), kPresentedScale) << "what scrolls is not made small";
  shown.fit({.part = 0.0F});
  EXPECT_EQ(shown.scale(), kPresentedScale) << "a plot has its usual size";
}

TEST(Presentation, ReturnsWhatWasThereBefore) {
  Presentation shown;
  Presentation::Before before{.page = Page::Graphs};
  before.views[2] = "memory";
  shown.begin(before);
  EXPECT_EQ(shown.before()->view(), "memory");
  EXPECT_EQ(shown.end().page, Page::Graphs);
  EXPECT_FALSE(shown.on());
  EXPECT_EQ(shown.before(), nullptr);
}

}  // namespace
}  // namespace app
