// Labels keep clear of the data, of each other and of the plot's edges.
#include "app/gui/plot/label_places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace app::plot {
namespace {

const ImVec2 kMin{100, 50};
const ImVec2 kMax{500, 150};
const ImVec2 kSize{60, 12};

bool overlap(ImVec2 a, ImVec2 b) {
  return a.x < b.x + kSize.x && b.x < a.x + kSize.x && a.y < b.y + kSize.y && b.y < a.y + kSize.y;
}

bool inside(ImVec2 at) {
  return at.x >= kMin.x && at.y >= kMin.y && at.x + kSize.x <= kMax.x && at.y + kSize.y <= kMax.y;
}

TEST(LabelPlaces, ANameOfTheWholePlotAvoidsTheCurve) {
  LabelPlaces places(kMin, kMax);
  EXPECT_FLOAT_EQ(LabelPlaces(kMin, kMax).anywhere(kSize, 4).at.x, 104);
  // Falls through the lower left corner, where the label would be placed.
  places.keep_free_line(ImVec2(100, 140), ImVec2(180, 140));
  places.keep_free_line(ImVec2(180, 140), ImVec2(180, 60));
  const LabelPlaces::Place place = places.anywhere(kSize, 4);
  EXPECT_TRUE(place.clear);
  EXPECT_TRUE(inside(place.at));
  EXPECT_GT(place.at.x, 180);
}

TEST(LabelPlaces, ALineThatIsNowhereKeepsNothingFree) {
  LabelPlaces places(kMin, kMax);
  const float nowhere = std::numeric_limits<float>::quiet_NaN();
  places.keep_free_line(ImVec2(100, nowhere), ImVec2(180, 140));
  places.keep_free_line(ImVec2(nowhere, 60), ImVec2(180, nowhere));
  places.keep_free(ImVec2(nowhere, nowhere), 3);
  EXPECT_FLOAT_EQ(places.anywhere(kSize, 4).at.x, 104);
}

TEST(LabelPlaces, LabelsKeepClearOfEachOther) {
  LabelPlaces places(kMin, kMax);
  std::vector<ImVec2> taken;
  for (int i = 0; i < 9; ++i) {
    const LabelPlaces::Place place = places.anywhere(kSize, 4);
    ASSERT_TRUE(place.clear) << i;
    EXPECT_TRUE(inside(place.at));
    for (const ImVec2 other : taken) EXPECT_FALSE(overlap(place.at, other)) << i;
    taken.push_back(place.at);
  }
}

TEST(LabelPlaces, ALabelWithoutRoomOfItsOwnIsLeftOut) {
  LabelPlaces places(kMin, ImVec2(270, 80));  // two lines of two labels
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(places.anywhere(kSize, 2).clear) << i;
  EXPECT_TRUE(places.anywhere(kSize, 2).taken);
  // Data below are no reason.
  LabelPlaces covered(kMin, ImVec2(270, 80));
  covered.keep_free(kMin, kMax);
  const LabelPlaces::Place place = covered.anywhere(kSize, 2);
  EXPECT_FALSE(place.clear);
  EXPECT_FALSE(place.taken);
}

TEST(LabelPlaces, TheNameOfALineIsPlacedWhereTheDataLeaveRoom) {
  LabelPlaces places(kMin, kMax);
  // Dots on both sides of the line along its right half.
  for (float x = 300; x <= 500; x += 10) {
    places.keep_free(ImVec2(x, 92), 2);
    places.keep_free(ImVec2(x, 108), 2);
  }
  const LabelPlaces::Place place = places.along(100, kSize, 2);
  EXPECT_TRUE(place.clear);
  EXPECT_LE(place.at.x + kSize.x, 298);
  EXPECT_FALSE(place.at.y < 100 && place.at.y + kSize.y > 100) << "not on the line itself";
}

TEST(LabelPlaces, WithoutRoomItAsksForABackground) {
  LabelPlaces places(kMin, kMax);
  places.keep_free(kMin, kMax);
  EXPECT_FALSE(places.anywhere(kSize, 4).clear);
  EXPECT_FALSE(places.along(100, kSize, 2).clear);
  EXPECT_FALSE(places.next_to(ImVec2(300, 100), kSize, 8));
}

TEST(LabelPlaces, APointsNameIsPlacedNextToIt) {
  LabelPlaces places(kMin, kMax);
  places.keep_free(ImVec2(490, 100), 4);
  const auto at = places.next_to(ImVec2(490, 100), kSize, 8);
  ASSERT_TRUE(at);
  EXPECT_LT(at->x + kSize.x, 490) << "there is no room to its right";
}

TEST(LabelPlaces, ANameNeverStandsNearerToAnotherPoint) {
  LabelPlaces places(ImVec2(0, 0), ImVec2(400, 200));
  const ImVec2 own(100, 100);
  // At the four places beside the point, and nearer to them.
  for (const ImVec2 other : {ImVec2(110, 84), ImVec2(90, 84), ImVec2(110, 118), ImVec2(90, 118)}) {
    places.keep_free(other, 1);
  }
  places.keep_free(own, 1);
  EXPECT_FALSE(places.next_to(own, ImVec2(40, 12), 8).has_value());
  LabelPlaces alone(ImVec2(0, 0), ImVec2(400, 200));
  alone.keep_free(own, 1);
  EXPECT_TRUE(alone.next_to(own, ImVec2(40, 12), 8).has_value());
  // Two that coincide each have a name.
  alone.keep_free(own, 1);
  EXPECT_TRUE(alone.next_to(own, ImVec2(40, 12), 8).has_value());
}

TEST(LabelPlaces, ANameFurtherAwayIsJoinedAndCrossesNoOther) {
  LabelPlaces places(kMin, kMax);
  std::vector<LabelPlaces::Joined> all;
  const ImVec2 dot{300, 100};
  while (const auto joined = places.joined_to(dot, kSize, {.least = 12, .most = 60})) {
    EXPECT_TRUE(inside(joined->at));
    EXPECT_LE(std::hypot(joined->end.x - dot.x, joined->end.y - dot.y), 60.5F);
    EXPECT_GE(joined->end.x, joined->at.x - 0.5F);
    EXPECT_LE(joined->end.x, joined->at.x + kSize.x + 0.5F) << "the line ends at its label";
    for (const LabelPlaces::Joined& other : all) EXPECT_FALSE(overlap(joined->at, other.at));
    all.push_back(*joined);
    ASSERT_LT(all.size(), 20U) << "it ends when there is no room";
  }
  EXPECT_GE(all.size(), 2U);
}

/// From the point to the nearest pixel of a label there.
float distance(ImVec2 point, ImVec2 at) {
  return std::hypot(point.x - std::clamp(point.x, at.x, at.x + kSize.x),
                    point.y - std::clamp(point.y, at.y, at.y + kSize.y));
}

TEST(LabelPlaces, AJoinedNameIsNearerToItsOwnPointEvenOverData) {
  LabelPlaces places(kMin, kMax);
  // Close to the right end, as two products under their roof, with the other point below left.
  const ImVec2 own{470, 90};
  const ImVec2 other{460, 96};
  places.keep_free(other, 5);
  places.keep_free(own, 5);
  places.keep_free_line(ImVec2(300, 84), ImVec2(500, 84));
  const auto joined = places.joined_to(own, kSize, {.least = 13, .most = 72});
  ASSERT_TRUE(joined);
  EXPECT_TRUE(inside(joined->at));
  EXPECT_LT(distance(own, joined->at), distance(other, joined->at));
  EXPECT_GE(joined->end.x, joined->at.x - 0.5F);
  EXPECT_LE(joined->end.x, joined->at.x + kSize.x + 0.5F) << "the line ends at its label";
}

TEST(LabelPlaces, ALineToANamePassesNoOtherPoint) {
  LabelPlaces places(kMin, kMax);
  const ImVec2 own{200, 100};
  const ImVec2 other{230, 100};
  // Room only to the right, beyond the other point, or elsewhere below and above it.
  places.keep_free(other, 4);
  places.keep_free(own, 4);
  for (int i = 0; i < 4; ++i) {
    const auto joined = places.joined_to(own, kSize, {.least = 36, .most = 90});
    if (!joined) break;
    for (float share = 0.2F; share <= 1.0F; share += 0.02F) {
      const float x = own.x + share * (joined->end.x - own.x);
      const float y = own.y + share * (joined->end.y - own.y);
      EXPECT_GT(std::hypot(x - other.x, y - other.y), 3.9F) << i;
    }
  }
}

TEST(LabelPlaces, WhereNoPlaceIsNearerToItsPointANameIsApartFromTheOthers) {
  LabelPlaces places(kMin, kMax);
  const ImVec2 own{300, 100};
  std::vector<ImVec2> others;
  // All around, closer to whatever lies outside.
  for (int i = 0; i < 24; ++i) {
    const float angle = 6.2831853F * static_cast<float>(i) / 24;
    others.emplace_back(own.x + 12 * std::cos(angle), own.y + 12 * std::sin(angle));
    places.keep_free(others.back(), 1);
  }
  places.keep_free(own, 1);
  const auto joined = places.joined_to(own, kSize, {.least = 8, .most = 72});
  ASSERT_TRUE(joined);
  for (const ImVec2 other : others) EXPECT_GE(distance(other, joined->at), 15.5F);
}

TEST(LabelPlaces, WithoutAClearPlaceANameLiesOverDataNeverOverAName) {
  LabelPlaces places(kMin, kMax);
  places.keep_free(kMin, kMax);
  const auto joined = places.joined_to(ImVec2(300, 100), kSize, {.least = 12, .most = 60});
  ASSERT_TRUE(joined);
  EXPECT_FALSE(joined->clear) << "it needs a background";
  const auto other = places.joined_to(ImVec2(304, 100), kSize, {.least = 12, .most = 60});
  ASSERT_TRUE(other);
  EXPECT_FALSE(overlap(joined->at, other->at));
}

TEST(LabelPlaces, DataFarOutsideDoNoHarm) {
  LabelPlaces places(kMin, kMax);
  places.keep_free_line(ImVec2(-1e30F, -1e30F), ImVec2(1e30F, 1e30F));
  places.keep_free(ImVec2(1e30F, 0), 1e20F);
  EXPECT_TRUE(inside(places.anywhere(kSize, 4).at));
}

}  // namespace
}  // namespace app::plot
