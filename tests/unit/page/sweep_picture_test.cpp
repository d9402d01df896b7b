// The picture of a sweep keeps every mark inside and leaves out what has no place.
#include "app/page/sweep_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/unit/page/count.h"
#include "tests/unit/page/svg_reader.h"

namespace app {
namespace {

using profiling::FrontierPlace;
using profiling::SweepPoint;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kExact = std::numeric_limits<double>::infinity();

SweepPoint swept(double snr_db, double ns, FrontierPlace frontier, std::string label = "a recipe") {
  SweepPoint made;
  made.label = std::move(label);
  made.time = {.n = 40, .median = ns, .p5 = 0.9 * ns, .p95 = 1.4 * ns};
  made.worst_snr_db = made.median_snr_db = snr_db;
  made.frontier = frontier;
  // As mark_frontier() leaves it: an undecided point names what may beat it.
  if (frontier == FrontierPlace::Undecided) made.doubt = {.other = 0, .reason = "few samples"};
  return made;
}

TEST(SweepPicture, HasADotPerPointAndAFrontierPerWork) {
  std::vector<SweepPoint> points = {swept(kExact, 9e5, FrontierPlace::On, "exact one"),
                                    swept(30, 5e5, FrontierPlace::On, "thirty"),
                                    swept(20, 7e5, FrontierPlace::Off, "beaten"),
                                    swept(10, 4e5, FrontierPlace::Undecided, "unsure")};
  const SweepPicture one = sweep_picture(points, "A sweep");
  const std::string markup = markup_of(one.picture);
  EXPECT_EQ(count(markup, "<circle"), 4U);
  EXPECT_EQ(count(markup, "<polyline"), 2U);  // the axes and the frontier
  EXPECT_THAT(markup, HasSubstr(">thirty<"));
  EXPECT_THAT(markup, HasSubstr("worst SNR exact, frontier: yes"));
  EXPECT_EQ(outside_of(markup), "");
  EXPECT_THAT(one.note, HasSubstr("Exact products"));
  EXPECT_THAT(one.note, Not(HasSubstr("frontier of its own")));
  // The exact point is above the best of the others, and the axis says nothing untrue of it.
  const std::vector<SvgMark> marks = marks_of(markup);
  const auto dot = std::ranges::find(marks, "circle", &SvgMark::element);
  ASSERT_NE(dot, marks.end());
  EXPECT_LT(dot->bottom, std::next(dot)->bottom);
  points[1].work = points[2].work = "another seed";
  const SweepPicture two = sweep_picture(points, "A sweep");
  EXPECT_EQ(count(markup_of(two.picture), "<polyline"), 3U);
  EXPECT_THAT(two.note, HasSubstr("frontier of its own"));
  // Names are beside no whisker.
  for (const SvgMark& name : marks) {
    if (name.element != "text" || name.words != "thirty") continue;
    const double middle = 0.5 * (std::next(dot)->top + std::next(dot)->bottom);
    EXPECT_TRUE(name.bottom < middle || name.top > middle);
  }
}

TEST(SweepPicture, LeavesOutWhatHasNoPlace) {
  SweepPoint unmeasured = profiling::unmeasured_point({}, "refused", "why");
  EXPECT_TRUE(sweep_picture({}, "").picture.empty());
  EXPECT_TRUE(sweep_picture({unmeasured}, "").picture.empty());
  const std::vector<SweepPoint> points = {unmeasured, swept(std::nan(""), 1e5, FrontierPlace::Off),
                                          swept(-kExact, 1e5, FrontierPlace::Off),
                                          swept(20, 1e5, FrontierPlace::On)};
  const std::string markup = markup_of(sweep_picture(points, "").picture);
  EXPECT_EQ(count(markup, "<circle"), 1U);
  EXPECT_THAT(markup, Not(HasSubstr("nan")));
}

TEST(SweepPicture, ANameIsNoOtherPoints) {
  const std::vector<SweepPoint> points = {
      swept(20.0, 5e5, FrontierPlace::On, "first of a cluster"),
      swept(20.1, 5.1e5, FrontierPlace::On, "second of a cluster"),
      swept(90.0, 9e5, FrontierPlace::On, "alone")};
  const std::string markup = markup_of(sweep_picture(points, "").picture);
  EXPECT_THAT(markup, HasSubstr(">alone<"));
  EXPECT_THAT(markup, Not(HasSubstr(">first of a cluster<")));
  EXPECT_THAT(markup, HasSubstr("first of a cluster: median")) << "under the mouse";
}

TEST(SweepPicture, NamesNeitherCoverEachOtherNorLeaveThePicture) {
  std::vector<SweepPoint> points;
  for (int i = 0; i < 200; ++i) {
    points.push_back(swept(i % 10 * (i % 7), 1e5 * (1 + i % 14), FrontierPlace::On,
                           "name " + std::to_string(i)));
  }
  for (const std::vector<SweepPoint>& some :
       {points, std::vector{swept(kExact, 5, FrontierPlace::On)},
        std::vector{swept(1, 1e15, FrontierPlace::On), swept(90, 1, FrontierPlace::On)}}) {
    const std::string markup = markup_of(sweep_picture(some, "").picture);
    EXPECT_EQ(count(markup, "<circle"), some.size());
    EXPECT_EQ(outside_of(markup), "");
  }
  // Near enough that some names would lie on each other.
  points.clear();
  for (int i = 0; i < 24; ++i) {
    points.push_back(swept(10 + 7 * (i % 5), 1e5 * (10 + i), FrontierPlace::On,
                           "name of number " + std::to_string(i)));
    points.back().time.p5 = points.back().time.p95 = points.back().time.median;
  }
  std::vector<SvgMark> names;
  for (const SvgMark& mark : marks_of(markup_of(sweep_picture(points, "").picture))) {
    if (mark.element == "text" && mark.words.starts_with("name ")) names.push_back(mark);
  }
  EXPECT_GT(names.size(), 3U);
  EXPECT_LT(names.size(), points.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool apart = names[i].right <= names[j].left || names[j].right <= names[i].left ||
                         names[i].bottom <= names[j].top || names[j].bottom <= names[i].top;
      EXPECT_TRUE(apart) << names[i].words << " and " << names[j].words;
    }
  }
}

}  // namespace
}  // namespace app
