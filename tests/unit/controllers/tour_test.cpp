// Where a tour is: stepped by a person, played by the clock, and at its ends.
#include <gtest/gtest.h>

#include "app/controllers/tour_controller.h"

namespace app {
namespace {

Tour tour_of(std::size_t steps) {
  TourScript script;
  script.title = "a tour";
  script.steps.resize(steps);
  return Tour(std::move(script));
}

TEST(Tour, StepsNeitherBeforeTheFirstNorPastTheLast) {
  Tour tour = tour_of(2);
  tour.back();
  EXPECT_EQ(tour.index(), 0U);
  tour.next();
  EXPECT_EQ(tour.index(), 1U);
  EXPECT_TRUE(tour.at_last());
  tour.next();
  EXPECT_EQ(tour.index(), 1U);
}

TEST(Tour, GoesOnByItselfOnlyAfterTheCaptionCouldBeRead) {
  Tour tour = tour_of(2);
  const double reading = reading_seconds(tour.step());
  EXPECT_FALSE(tour.advance(1000)) << "nothing is shown yet";
  tour.show(10);
  EXPECT_FALSE(tour.advance(10 + 0.9 * reading));
  EXPECT_TRUE(tour.advance(10 + 1.1 * reading));
  EXPECT_EQ(tour.index(), 1U);
  EXPECT_EQ(tour.phase(), Tour::Phase::Begin);
  tour.show(20);
  EXPECT_TRUE(tour.advance(20 + 1.1 * reading)) << "it rests at the last step";
  EXPECT_FALSE(tour.playing());
  EXPECT_EQ(tour.phase(), Tour::Phase::Show);
}

TEST(Tour, APausedStepStaysAndTroubleGoesWithItsStep) {
  Tour tour = tour_of(2);
  tour.show(0, "no worker");
  EXPECT_FALSE(tour.advance(1e6));
  EXPECT_EQ(tour.trouble(), "no worker");
  EXPECT_FALSE(tour.playing()) << "a step in trouble stops the tour";
  tour.next();
  EXPECT_EQ(tour.trouble(), "");
}

TEST(Tour, IsDonePastItsLastStep) {
  Tour tour = tour_of(2);
  tour.finish_step();
  EXPECT_EQ(tour.index(), 1U);
  tour.finish_step();
  EXPECT_EQ(tour.phase(), Tour::Phase::Done);
}

}  // namespace
}  // namespace app
