// Which report the Graphs page shows while the processes of a watched program come and change.
#include "app/gui/doctor/report_sources.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>

namespace app {
namespace {

using Visit = std::shared_ptr<const profiling::RecordedVisit>;

Visit made_visit(const std::string& subject, std::size_t findings = 0) {
  profiling::RecordedVisit visit;
  visit.report.snapshot.subject = subject;
  visit.report.findings.resize(findings);
  return std::make_shared<const profiling::RecordedVisit>(std::move(visit));
}

std::string rank(int number) {
  return "train.py (process " + std::to_string(1000 + number) + ", rank " + std::to_string(number) +
         ")";
}

class WatchedSources : public testing::Test {
 protected:
  std::string shown() {
    sources_.follow(view_);
    const ReportSource* chosen = sources_.chosen();
    return chosen == nullptr ? "" : chosen->report->snapshot.subject;
  }

  SessionView view_;
  ReportSources sources_;
};

TEST_F(WatchedSources, TheFirstProcessStaysWhateverOthersComeOrChange) {
  EXPECT_EQ(shown(), "");
  view_.doctor.attached = 1;
  EXPECT_EQ(shown(), "");
  view_.visits = {made_visit(rank(0))};
  EXPECT_EQ(shown(), rank(0));
  const int changes = sources_.changes();
  view_.visits.push_back(made_visit(rank(1), 1));
  EXPECT_EQ(shown(), rank(0));
  view_.visits[1] = made_visit(rank(1), 2);
  EXPECT_EQ(shown(), rank(0));
  view_.visits[0] = made_visit(rank(0), 3);
  EXPECT_EQ(shown(), rank(0));
  EXPECT_EQ(sources_.chosen()->report->findings.size(), 3U);
  EXPECT_EQ(sources_.changes(), changes) << "nothing else was put on screen";
}

TEST_F(WatchedSources, OfProcessesThatComeTogetherTheOneWithFindingsIsShown) {
  shown();
  view_.doctor.attached = 1;
  view_.visits = {made_visit(rank(0)), made_visit(rank(1), 1), made_visit(rank(2))};
  EXPECT_EQ(shown(), rank(1));
}

TEST_F(WatchedSources, ARecordingThatIsReadAnewOpensAsItDidAtFirst) {
  view_.from_file = true;
  view_.session_path = "a.session";
  for (int read = 0; read < 2; ++read) {
    view_.visits = {made_visit("the step"), made_visit("a case", 1)};
    EXPECT_EQ(shown(), "the step") << "not the newest with findings, as of watched processes";
  }
}

TEST_F(WatchedSources, TheOneOnScreenKeepsItsPlaceWhenOlderOnesLeaveTheList) {
  shown();
  view_.visits = {made_visit("step")};
  EXPECT_EQ(shown(), "step");
  view_.doctor.attached = 1;
  view_.visits.push_back(made_visit(rank(0)));
  EXPECT_EQ(shown(), rank(0));
  // The list is full: the oldest goes, and the one on screen changes at the same time.
  view_.visits = {made_visit(rank(0), 1), made_visit(rank(1))};
  EXPECT_EQ(shown(), rank(0));
  // One that the user has chosen, too.
  sources_.choose(1);
  EXPECT_EQ(shown(), rank(1));
  view_.visits = {view_.visits[1], made_visit(rank(2), 1)};
  EXPECT_EQ(shown(), rank(1));
}

TEST_F(WatchedSources, AnotherProgramAndAVisitOfTheUserComeOnScreen) {
  shown();
  view_.doctor.attached = 1;
  view_.visits = {made_visit(rank(0))};
  EXPECT_EQ(shown(), rank(0));
  view_.doctor.attached = 2;
  EXPECT_EQ(shown(), rank(0)) << "until the first process of the other one comes";
  view_.visits.push_back(made_visit("infer.py (process 2000)"));
  EXPECT_EQ(shown(), "infer.py (process 2000)");
  view_.visits.push_back(made_visit("step"));
  EXPECT_EQ(shown(), "step");
}

TEST(ReportSourcesOfTheGallery, TheListedVisitToACaseIsPutOnScreen) {
  const std::vector<profiling::HazardCase>& cases = profiling::hazard_cases();
  const auto title = [&cases](std::size_t index, bool healthy) {
    return profiling::subject_title({.id = cases[index].id, .healthy = healthy});
  };
  SessionView view;
  view.visits = {made_visit(title(0, false)), made_visit(title(1, true)),
                 made_visit(title(1, false))};
  ReportSources sources;
  sources.follow(view);
  const int changes = sources.changes();
  ASSERT_TRUE(sources.choose_about({.id = cases[1].id, .healthy = false}));
  EXPECT_EQ(sources.chosen()->key, "visit 3");
  EXPECT_EQ(sources.changes(), changes + 1);
  ASSERT_TRUE(sources.choose_about({.id = cases[1].id, .healthy = true}));
  EXPECT_EQ(sources.chosen()->key, "visit 2");
  EXPECT_FALSE(sources.choose_about({.id = cases[2].id, .healthy = false}));
  EXPECT_EQ(sources.chosen()->key, "visit 2");
}

}  // namespace
}  // namespace app
