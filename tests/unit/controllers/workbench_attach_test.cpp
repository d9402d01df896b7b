// The processes of an attached program, as visits to the doctor in the window's one list.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/support/observed_spool.h"
#include "tests/unit/controllers/workbench_fixture.h"

namespace app {
namespace {

using ::testing::Not;
using ::testing::SizeIs;

TEST_F(WorkbenchTest, AnAttachedProcessIsOneVisitWhateverIsReadOfIt) {
  open("");
  const std::string record = folder_ + "/record";
  std::filesystem::create_directory(record);
  profiling::observed_spool(0).write(record + "/1234.spool");
  workbench_->act(Action::ToggleRecording);
  const std::string path = workbench_->files.recording_path();
  workbench_->read_attached({record});
  ASSERT_TRUE(tick_until([&] { return !state().live_results().visits.empty(); }));
  EXPECT_EQ(page_.page, Page::Graphs);
  const auto first = state().live_results().visits[0];
  EXPECT_THAT(first->report.findings, SizeIs(0));
  EXPECT_EQ(first->report.snapshot.subject, "train.py (process 1234)");

  profiling::observed_spool(3).write(record + "/1234.spool");
  workbench_->read_attached({record});
  ASSERT_TRUE(tick_until([&] { return state().live_results().visits[0] != first; }));
  ASSERT_THAT(state().live_results().visits, SizeIs(1));
  EXPECT_THAT(state().live_results().visits[0]->report.findings, SizeIs(1));
  EXPECT_EQ(workbench_->refusal(Action::SaveSession), "");

  workbench_->act(Action::ToggleRecording);
  ASSERT_TRUE(wait_for_notice("recorded in " + path));
  workbench_->open_file(path);
  ASSERT_TRUE(tick_until([&] { return state().from_file(); }));
  EXPECT_THAT(state().results().visits.back()->report.findings, SizeIs(1));
}

TEST_F(WorkbenchTest, ARecordingThatEndsFirstHasWhatIsKnownOfTheProgram) {
  profiling::observed_spool(3).write(folder_ + "/made");
  ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  Workbench::Options options;
  options.no_worker = true;
  options.attach_library = std::string(MARKER_LIBRARY);
  workbench_ = std::make_unique<Workbench>(options, [] {}, remembered_, machines_);
  workbench_->act(Action::ToggleRecording);
  const std::string path = workbench_->files.recording_path();
  workbench_->attach_to(
      {.command = "sh -c 'cp made \"$EXPERTSCOPE_ATTACH_FOLDER\"/1.spool; sleep 60'",
       .working_folder = folder_});
  ASSERT_TRUE(tick_until([&] { return !state().live_results().visits.empty(); }));
  workbench_->act(Action::ToggleRecording);
  ASSERT_TRUE(wait_for_notice("recorded in " + path));
  workbench_->act(Action::EndProgram);
  ASSERT_TRUE(tick_until([&] { return !workbench_->attach.program_runs(); }));
  workbench_->open_file(path);
  ASSERT_TRUE(tick_until([&] { return state().from_file(); }));
  EXPECT_THAT(state().results().visits, SizeIs(1));
}

TEST_F(WorkbenchTest, WhatAProgramPrintsIsBounded) {
  ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  Workbench::Options options;
  options.no_worker = true;
  options.attach_library = std::string(MARKER_LIBRARY);
  workbench_ = std::make_unique<Workbench>(options, [] {}, remembered_, machines_);
  workbench_->attach_to(
      {.command =
           "sh -c 'echo first; head -c 30000000 /dev/zero | tr \"\\\\000\" .; echo; echo last'"});
  ASSERT_TRUE(tick_until([&] { return !workbench_->attach.program_runs(); }));
  const AttachStatus& status = workbench_->attach.status();
  EXPECT_EQ(status.end, "ended with exit code 0");
  ASSERT_THAT(status.output, Not(::testing::IsEmpty()));
  EXPECT_EQ(status.output.back(), "last");
  EXPECT_EQ(status.cut_output, status.folder + "/output.txt");
  EXPECT_LT(std::filesystem::file_size(status.cut_output), (16U << 20U) + 4096U);
}

TEST_F(WorkbenchTest, ANewerStateOfAVisitThatIsNotKeptIsDropped) {
  open("");
  const auto kept = state().add_live(profiling::RecordedVisit());
  profiling::RecordedVisit newer;
  newer.report.conclusion = "newer";
  EXPECT_EQ(state().replace_live(nullptr, newer), nullptr);
  EXPECT_EQ(state().replace_live(std::make_shared<const profiling::RecordedVisit>(), newer),
            nullptr);
  EXPECT_EQ(state().live_results().visits.at(0), kept);
  const auto replaced = state().replace_live(kept, newer);
  EXPECT_EQ(state().live_results().visits.at(0), replaced);
  EXPECT_EQ(replaced->report.conclusion, "newer");
}

TEST_F(WorkbenchTest, WhatCannotBeAttachedToIsANotice) {
  open("");
  workbench_->attach_to({.command = ""});
  workbench_->read_attached({folder_ + "/gone"});
  EXPECT_TRUE(wait_for_notice("gone is not a folder"));
  EXPECT_EQ(workbench_->refusal(Action::StopWatching), "No program is watched");
  EXPECT_EQ(workbench_->refusal(Action::EndProgram), "No attached program runs");
  EXPECT_THAT(state().live_results().visits, SizeIs(0));
}

}  // namespace
}  // namespace app
