// Cards keep what they need to be read, whoever drags the edge between them.
#include "app/gui/cards/card_board.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace {

using Lengths = std::vector<float>;

TEST(CardBoardTest, SharesAreRelativeAndFillTheRoom) {
  EXPECT_EQ(app::lengths_of(400, {1, 3}, {0, 0}), (Lengths{100, 300}));
  const Lengths thirds = app::lengths_of(100, {1, 1, 1}, {0, 0, 0});
  EXPECT_EQ(thirds, (Lengths{33, 33, 34}));
}

TEST(CardBoardTest, APartBelowItsLeastGetsItAndTheOthersShareTheRest) {
  EXPECT_EQ(app::lengths_of(400, {1, 3, 4}, {100, 0, 0}), (Lengths{100, 128, 172}));
  // Lifting the first leaves too little for the second.
  EXPECT_EQ(app::lengths_of(400, {1, 3, 4}, {100, 140, 0}), (Lengths{100, 140, 160}));
}

TEST(CardBoardTest, WithoutRoomForAllEveryPartGivesWay) {
  const Lengths lengths = app::lengths_of(150, {1, 1}, {100, 200});
  EXPECT_EQ(lengths, (Lengths{50, 100}));
  for (const float length : app::lengths_of(-8, {1, 1}, {100, 200})) EXPECT_LE(length, 0.0F);
}

TEST(CardBoardTest, AnEdgeMovesOnlyItsNeighboursAndStopsAtTheirLeast) {
  const Lengths before = {100, 200, 300};
  EXPECT_EQ(app::moved_edge(before, {50, 50, 50}, 1, 30), (Lengths{100, 230, 270}));
  EXPECT_EQ(app::moved_edge(before, {50, 50, 50}, 1, 1000), (Lengths{100, 450, 50}));
  EXPECT_EQ(app::moved_edge(before, {50, 50, 50}, 0, -1000), (Lengths{50, 250, 300}));
  // A part that is already below its least does not jump up to it.
  EXPECT_EQ(app::moved_edge({40, 260}, {50, 50}, 0, -10), (Lengths{40, 260}));
}

TEST(CardBoardTest, ThePlanNeedsTheHeightOfItsRowsOnTopOfEachOther) {
  const app::CardPlan rows{.id = "rows",
                           .parts = {{1, 100}, {1, 150, {{1, 700}, {1, 700}}}, {1, 50}}};
  EXPECT_EQ(app::least_height(rows, 10), 320.0F);
  // Of columns the highest one counts; their own least is a width.
  const app::CardPlan columns{
      .id = "columns", .columns = true, .parts = {{1, 900, {{1, 100}, {1, 120}}}, {1, 900}}};
  EXPECT_EQ(app::least_height(columns, 10), 230.0F);
}

}  // namespace
