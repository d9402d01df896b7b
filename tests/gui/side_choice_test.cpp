// Which runs become A and B, as runs, recordings and measurements come and go.
#include "app/gui/compare/side_choice.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace {

using app::SessionView;
using app::SideChoice;
using profiling::GroupKind;
using profiling::RecordedRun;

std::shared_ptr<const RecordedRun> run_of(profiling::RunGroup group = {}) {
  RecordedRun run;
  run.group = std::move(group);
  return std::make_shared<const RecordedRun>(std::move(run));
}

TEST(SideChoice, FollowsTheLastTwoRunsUntilTheUserChooses) {
  SessionView view;
  SideChoice sides;
  view.runs = {run_of()};
  view.live_runs = 1;
  sides.follow(view);
  EXPECT_FALSE(sides.ready());
  view.runs.push_back(run_of());
  view.runs.push_back(run_of());
  view.live_runs = 3;
  sides.follow(view);
  EXPECT_EQ(sides.a().runs.front(), view.runs[1]);
  EXPECT_EQ(sides.b().runs.front(), view.runs[2]);
  sides.choose_a(sides.offered()[0]);
  sides.swap();
  view.runs.push_back(run_of());
  view.live_runs = 4;
  sides.follow(view);
  EXPECT_EQ(sides.a().runs.front(), view.runs[2]);
  EXPECT_EQ(sides.b().runs.front(), view.runs[0]);
  // Its run leaves the list: the side stays, and is reported as no longer there.
  view.runs.erase(view.runs.begin());
  view.live_runs = 3;
  sides.follow(view);
  EXPECT_EQ(sides.index_of(sides.b()), -1);
  EXPECT_EQ(sides.b().runs.size(), 1U);
}

TEST(SideChoice, BeginsWithTheRunOnScreenAndItsNeighbourOfTheSameWork) {
  const auto run_with = [](std::int64_t rows) {
    RecordedRun run;
    run.result.effective.shape.rows = rows;
    run.result.splits = {rows};
    return std::make_shared<const RecordedRun>(std::move(run));
  };
  SessionView view;
  // One run of this window, then a recording's.
  view.runs = {run_with(64), run_with(64), run_with(128), run_with(64), run_with(256)};
  view.live_runs = 1;
  view.run_index = 1;
  view.run = view.runs[1];
  view.from_file = true;
  SideChoice sides;
  sides.follow(view);
  EXPECT_EQ(sides.a().runs.front(), view.runs[1]);
  EXPECT_EQ(sides.b().runs.front(), view.runs[3]) << "not the live run, not other work";
  // Nothing like it: the last two.
  view.run_index = 4;
  view.run = view.runs[4];
  SideChoice others;
  others.follow(view);
  EXPECT_EQ(others.a().runs.front(), view.runs[3]);
  EXPECT_EQ(others.b().runs.front(), view.runs[4]);
}

TEST(SideChoice, BackAmongOnesOwnRunsAChoiceAmongARecordingsEnds) {
  SessionView view;
  view.runs = {run_of(), run_of(), run_of(), run_of()};
  view.live_runs = 2;
  view.run_index = 3;
  view.run = view.runs[3];
  view.from_file = true;
  SideChoice sides;
  sides.follow(view);
  sides.choose_a(sides.offered()[3]);
  sides.choose_b(sides.offered()[2]);
  view.from_file = false;
  view.run_index = 1;
  view.run = view.runs[1];
  sides.follow(view);
  EXPECT_EQ(sides.a().runs.front(), view.runs[0]);
  EXPECT_EQ(sides.b().runs.front(), view.runs[1]);
  // What has one of this window's runs stays.
  view.from_file = true;
  sides.follow(view);
  sides.choose_b(sides.offered()[2]);
  view.from_file = false;
  sides.follow(view);
  EXPECT_EQ(sides.b().runs.front(), view.runs[2]);
  // A window that has measured nothing itself has nothing to compare.
  SessionView empty;
  empty.runs = {run_of(), run_of()};
  empty.from_file = true;
  SideChoice none;
  none.follow(empty);
  EXPECT_TRUE(none.ready());
  empty.from_file = false;
  none.follow(empty);
  EXPECT_FALSE(none.ready());
}

TEST(SideChoice, LiveAndRecordedRunsAreBothOffered) {
  SessionView view;
  view.runs = {run_of(), run_of()};
  view.live_runs = 1;
  view.session_path = "/somewhere/h200.session";
  app::RunNamesGiven names;
  view.names = &names;
  SideChoice sides;
  sides.follow(view);
  ASSERT_EQ(sides.offered().size(), 2U);
  EXPECT_TRUE(sides.titles()[0].starts_with("1. "));
  EXPECT_TRUE(sides.titles()[1].starts_with("h200: 1. "));
  names.give(view.runs[1], "before the fix");
  sides.follow(view);
  EXPECT_EQ(sides.titles()[1], "h200: 1. before the fix");
}

TEST(SideChoice, ASecondRecordingBecomesB) {
  SessionView view;
  SideChoice sides;
  view.runs = {run_of(), run_of()};
  view.live_runs = 2;
  sides.follow(view);
  view.second_runs = {run_of()};
  sides.follow(view);
  EXPECT_EQ(sides.b().runs.front(), view.second_runs[0]);
  EXPECT_EQ(sides.a().runs.front(), view.runs[0]);
  EXPECT_EQ(sides.offered().size(), 3U);
}

TEST(SideChoice, ASecondRecordingStandsBesideTheRunOnScreen) {
  SessionView view;
  SideChoice sides;
  view.runs = {run_of(), run_of()};
  view.live_runs = 1;
  view.session_path = "/data/today/a.session";
  view.run = view.runs[1];
  sides.follow(view);
  view.second_runs = {run_of()};
  view.second_path = "/data/yesterday/b.session";
  sides.follow(view);
  EXPECT_EQ(sides.a().runs.front(), view.run);
  EXPECT_TRUE(sides.titles()[1].starts_with("a: 1. "));
  EXPECT_TRUE(sides.titles()[2].starts_with("b: 1. "));
  // A side that the user has chosen stays.
  sides.choose_a(sides.offered()[0]);
  view.second_runs = {run_of()};
  view.second_path = "/data/yesterday/a.session";
  sides.follow(view);
  EXPECT_EQ(sides.a().runs.front(), view.runs[0]);
  EXPECT_TRUE(sides.titles()[2].starts_with("a (second): 1. "));
}

/// The blocks stand in random order: the first may be B's.
TEST(SideChoice, EachSideIsNamedByItsOwnSettings) {
  SessionView view;
  for (const char* label : {"B", "A", "A", "B"}) {
    RecordedRun run;
    run.group = {.kind = GroupKind::Interleaved, .id = 1, .label = label};
    run.request.recipe.scaling = label[0] == 'A' ? engine::Scaling::Mxfp8 : engine::Scaling::Nvfp4;
    view.runs.push_back(std::make_shared<const RecordedRun>(std::move(run)));
  }
  view.live_runs = view.runs.size();
  SideChoice sides;
  sides.follow(view);
  EXPECT_NE(sides.a().title.find("MXFP8"), std::string::npos) << sides.a().title;
  EXPECT_NE(sides.b().title.find("NVFP4"), std::string::npos) << sides.b().title;
  EXPECT_NE(sides.titles()[0].find("MXFP8"), std::string::npos) << sides.titles()[0];
}

TEST(SideChoice, AFinishedMeasurementTakesBothPlacesOnce) {
  SessionView view;
  SideChoice sides;
  int position = 0;
  for (const char* label : {"A", "B", "B", "A"}) {
    view.runs.push_back(run_of({GroupKind::Interleaved, 77, position++, label}));
  }
  view.live_runs = view.runs.size();
  view.batch.kind = GroupKind::Interleaved;
  view.batch.id = 77;
  view.batch.state = app::BatchState::Running;
  sides.follow(view);
  EXPECT_EQ(sides.a().runs.size(), 1U);
  view.batch.state = app::BatchState::Done;
  sides.follow(view);
  ASSERT_EQ(sides.a().runs.size(), 2U);
  EXPECT_EQ(sides.a().runs[1], view.runs[3]);
  EXPECT_EQ(sides.b().runs[0], view.runs[1]);
  EXPECT_EQ(sides.index_of(sides.a()), 0);
  sides.swap();
  sides.follow(view);
  EXPECT_EQ(sides.b().runs[1], view.runs[3]);
}

TEST(SideChoice, ARecordingOpensOnItsInterleavedMeasurement) {
  SessionView view;
  view.runs = {run_of(), run_of(), run_of()};
  for (const std::int64_t group : {7, 8}) {
    for (const char* label : {"B", "A"}) {
      view.runs.push_back(run_of({GroupKind::Interleaved, group, 0, label}));
    }
  }
  view.live_runs = 1;
  view.from_file = true;
  view.run_index = 1;
  view.run = view.runs[1];
  SideChoice sides;
  sides.follow(view);
  EXPECT_EQ(sides.a().runs.front(), view.runs[6]) << "the last one";
  EXPECT_EQ(sides.b().runs.front(), view.runs[5]);
  EXPECT_GE(sides.index_of(sides.a()), 0);
  // A block on screen tells which one is meant.
  view.run = view.runs[3];
  view.run_index = 3;
  SideChoice others;
  others.follow(view);
  EXPECT_EQ(others.a().runs.front(), view.runs[4]);
  EXPECT_EQ(others.b().runs.front(), view.runs[3]);
  // Blocks of one side alone decide nothing.
  view.runs.resize(4);
  SideChoice half;
  half.follow(view);
  EXPECT_EQ(half.a().runs.front(), view.runs[2]);
  EXPECT_EQ(half.b().runs.front(), view.runs[3]);
}

}  // namespace
