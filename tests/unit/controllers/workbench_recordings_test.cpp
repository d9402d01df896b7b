// Runs that are recorded, opened, named and saved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "app/controllers/run_names.h"
#include "app/protocol/shipped_recordings.h"
#include "profiling/hazards/model/names.h"
#include "tests/unit/controllers/workbench_fixture.h"

namespace app {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;
namespace fs = std::filesystem;

TEST_F(WorkbenchTest, RunsAreShownRecordedAndReadAgain) {
  open("");
  EXPECT_THAT(workbench_->refusal(Action::Run), HasSubstr("There is no worker"));
  EXPECT_EQ(workbench_->refusal(Action::SaveSession), "No run of this window to save yet");
  open("good");
  workbench_->act(Action::ToggleRecording);
  const std::string path = workbench_->files.recording_path();
  EXPECT_EQ(workbench_->notices.status_message(), "Recording every further run into " + path);
  ASSERT_TRUE(run_and_wait());
  EXPECT_EQ(state().shown(), state().live_results().runs.back());
  workbench_->act(Action::ToggleRecording);
  ASSERT_TRUE(wait_for_notice("1 run recorded in " + path));
  workbench_->open_file(path);
  ASSERT_TRUE(tick_until([&] { return state().from_file(); }));
  EXPECT_EQ(state().session_path(), path);
  EXPECT_THAT(state().results().runs, SizeIs(1));
  EXPECT_THAT(remembered_.recent, Contains(path));
  workbench_->act(Action::BackToLive);
  EXPECT_FALSE(state().from_file());
}

TEST_F(WorkbenchTest, ARecordingThatMayBeIncompleteSaysSo) {
  open("good");
  workbench_->act(Action::ToggleRecording);
  const std::string path = workbench_->files.recording_path();
  ASSERT_TRUE(run_and_wait());
  workbench_->act(Action::ToggleRecording);
  ASSERT_TRUE(wait_for_notice("1 run recorded in " + path));
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(18);
    file.write("\2\2", 2);  // as SQLite marks a file that has a log
  }
  workbench_->open_file(path);
  EXPECT_TRUE(
      wait_for_notice(fs::path(path).filename().string() + " may be incomplete. It was not"));
  EXPECT_TRUE(state().from_file()) << "what is there can be looked at";
}

/// Two live runs, the second of them recorded and on screen as a recorded one; the user's request
/// differs from both.
class RecordingTest : public WorkbenchTest {
 protected:
  void SetUp() override {
    WorkbenchTest::SetUp();
    open("good");
    runs().edit(with_seed(1), 0);
    ASSERT_TRUE(run_and_wait());
    runs().edit(with_seed(2), 0);
    workbench_->act(Action::ToggleRecording);
    path_ = workbench_->files.recording_path();
    ASSERT_TRUE(run_and_wait());
    workbench_->act(Action::ToggleRecording);
    ASSERT_TRUE(wait_for_notice("1 run recorded in " + path_));
    runs().edit(with_seed(3), 0);
    workbench_->open_file(path_);
    ASSERT_TRUE(tick_until([&] { return state().from_file(); }));
  }
  profiling::Session read() const { return profiling::open_session(path_).value(); }

  std::string path_;
};

TEST_F(RecordingTest, LiveAndRecordedRunsStandInOneList) {
  ASSERT_THAT(state().runs(), SizeIs(3));
  EXPECT_EQ(state().run_index(), 2U);
  EXPECT_EQ(state().recorded_index(), 0U);
  workbench_->act(Action::PreviousRun);
  EXPECT_FALSE(state().from_file());
  EXPECT_EQ(state().shown(), state().live_results().runs[1]);
  workbench_->act(Action::NextRun);
  EXPECT_TRUE(state().from_file());
  // A run that arrives goes to the live ones and does not replace what is on screen.
  state().add_live(profiling::RecordedRun{});
  EXPECT_TRUE(state().from_file());
  EXPECT_EQ(state().run_index(), 3U);
  workbench_->act(Action::CloseRecording);
  EXPECT_THAT(state().runs(), SizeIs(3));
  EXPECT_EQ(state().session_path(), "");
  EXPECT_EQ(workbench_->refusal(Action::CloseRecording), "No recording is open");
}

TEST_F(RecordingTest, TheRailShowsTheRecordedRequestAndKeepsIt) {
  EXPECT_EQ(workbench_->view().requested.seed, 2U);
  EXPECT_TRUE(workbench_->view().recorded_request);
  EXPECT_EQ(state().requested.seed, 3U);
  workbench_->edit(with_seed(4), 0);
  EXPECT_EQ(state().requested.seed, 3U);
  EXPECT_THAT(workbench_->notices.status_message(), HasSubstr("Use as my request"));
  for (const Action action : {Action::Run, Action::ToggleLive, Action::Undo}) {
    EXPECT_NE(workbench_->refusal(action), "");
  }
  EXPECT_TRUE(state().from_file());
}

TEST_F(RecordingTest, UndoComesBackToTheRecordingThatWasLeft) {
  workbench_->act(Action::UseRecordedRequest);
  EXPECT_FALSE(state().from_file());
  EXPECT_EQ(state().requested.seed, 2U);
  workbench_->act(Action::Undo);
  EXPECT_TRUE(state().from_file());
  EXPECT_EQ(state().requested.seed, 3U);
  EXPECT_EQ(workbench_->refusal(Action::Redo), "");
  workbench_->act(Action::Redo);
  EXPECT_FALSE(state().from_file());
  EXPECT_EQ(state().requested.seed, 2U);
  // It is read again if it was closed.
  workbench_->act(Action::CloseRecording);
  workbench_->act(Action::Undo);
  EXPECT_TRUE(tick_until([&] { return state().from_file(); }));
  EXPECT_EQ(state().shown()->request.seed, 2U);
}

TEST_F(RecordingTest, ARecordingThatCouldNotBeReadAgainLeavesNoPlaceToReturnTo) {
  path_ = folder_ + "/two.session";
  {
    const auto writer = profiling::SessionWriter::create(path_);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(writer.value()->append(*state().shown()).ok());
  }
  workbench_->open_file(path_);
  ASSERT_TRUE(tick_until([&] { return state().session_path() == path_; }));
  state().select_recorded(1);
  workbench_->act(Action::UseRecordedRequest);
  workbench_->act(Action::CloseRecording);
  fs::rename(path_, path_ + ".away");
  workbench_->act(Action::Undo);
  ASSERT_TRUE(wait_for_notice("Not opened: "));
  fs::rename(path_ + ".away", path_);
  workbench_->open_file(path_);
  ASSERT_TRUE(tick_until([&] { return state().from_file(); }));
  EXPECT_EQ(state().recorded_index(), 0U);
}

TEST_F(RecordingTest, ComingBackToTheRecordingRunsNothing) {
  state().live = true;
  workbench_->act(Action::UseRecordedRequest);
  ASSERT_TRUE(tick_until([&] { return !runs().link.waiting(); }));
  workbench_->act(Action::Undo);
  EXPECT_TRUE(state().from_file());
  EXPECT_FALSE(runs().link.waiting());
  EXPECT_TRUE(state().live);
}

TEST_F(RecordingTest, LiveModeWaitsForTheRecordingToBeLeft) {
  state().live = true;
  const std::size_t known = state().live_results().runs.size();
  runs().show(with_seed(5));  // as by a library that was fetched
  EXPECT_FALSE(runs().link.waiting());
  EXPECT_TRUE(state().from_file());
  workbench_->act(Action::BackToLive);
  EXPECT_TRUE(tick_until([&] { return state().live_results().runs.size() > known; }));
  EXPECT_EQ(state().shown()->request.seed, 5U);
}

TEST_F(RecordingTest, ANameIsWrittenToTheRecordingOfTheUser) {
  workbench_->name_run("mine");
  ASSERT_TRUE(
      tick_until([&] { return workbench_->notices.status_message() == "Name saved in " + path_; }));
  EXPECT_EQ(read().runs[0].name, "mine");
  EXPECT_EQ(workbench_->view().name_of(state().shown()), "mine");
}

TEST_F(RecordingTest, ALiveRunIsSavedWithItsName) {
  workbench_->act(Action::BackToLive);
  workbench_->name_run("the second");
  const std::string saved = folder_ + "/saved.session";
  workbench_->files.save_session(state(), saved);
  ASSERT_TRUE(wait_for_notice("saved in " + saved));
  const auto session = profiling::open_session(saved);
  ASSERT_TRUE(session.ok()) << session.error().message;
  EXPECT_EQ(session.value().runs[0].name, "");
  EXPECT_EQ(session.value().runs[1].name, "the second");
}

TEST_F(WorkbenchTest, ARecordingThatShipsIsNotChangedByAName) {
  open("");
  workbench_->open_file(kExampleRecording.path());
  ASSERT_TRUE(tick_until([&] { return state().from_file(); }));
  const auto before = fs::last_write_time(kExampleRecording.path());
  workbench_->name_run("mine");
  ASSERT_TRUE(tick_until([&] {
    return workbench_->notices.status_message().starts_with("The name stays in this window: ");
  }));
  EXPECT_EQ(fs::last_write_time(kExampleRecording.path()), before);
  EXPECT_EQ(workbench_->view().name_of(state().shown()), "mine");
}

TEST_F(WorkbenchTest, ResultsAreUnsavedUntilTheyAreInAFile) {
  open("good");
  const auto unsaved = [&] { return workbench_->files.unsaved(state()); };
  EXPECT_EQ(unsaved(), 0U);
  ASSERT_TRUE(run_and_wait());
  ASSERT_TRUE(run_and_wait());
  EXPECT_EQ(unsaved(), 2U);
  workbench_->files.save_session(state(), folder_ + "/saved.session");
  ASSERT_TRUE(wait_for_notice("saved in "));
  EXPECT_EQ(unsaved(), 0U);
  workbench_->act(Action::ToggleRecording);
  ASSERT_TRUE(run_and_wait());
  EXPECT_EQ(unsaved(), 0U) << "it is recorded";
  workbench_->act(Action::ToggleRecording);
  ASSERT_TRUE(run_and_wait());
  EXPECT_EQ(unsaved(), 1U);
  workbench_->files.save_session(state(), folder_ + "/no/such/folder.session");
  ASSERT_TRUE(wait_for_notice("Not saved: "));
  EXPECT_EQ(unsaved(), 1U);
}

TEST_F(WorkbenchTest, TheRunThatAWindowMakesAtItsStartIsNotMissed) {
  Workbench::Options options;
  options.worker.program = FAKE_WORKER;
  options.worker.arguments = {"good"};
  workbench_ = std::make_unique<Workbench>(options, [] {}, remembered_, machines_);
  state().live = true;
  runs().start_worker("");
  ASSERT_TRUE(tick_until([&] { return state().shown() != nullptr; }));
  EXPECT_EQ(workbench_->files.unsaved(state()), 0U);
  ASSERT_TRUE(run_and_wait());
  EXPECT_EQ(workbench_->files.unsaved(state()), 1U);
}

TEST_F(WorkbenchTest, ARecordedVisitShowsItsRequestAndItsMachine) {
  open("good");
  profiling::RecordedVisit visit;
  visit.request = with_seed(9);
  visit.wall_clock_ms = 1'700'000'000'000;
  visit.request.backend = engine::GemmBackend::CublasLtGrouped;
  visit.report.snapshot = {.subject = profiling::step_title(visit.request),
                           .cublaslt_version = "13.5.1",
                           .device = "NVIDIA H200",
                           .driver = "580"};
  const std::string path = folder_ + "/visit.session";
  ASSERT_TRUE(profiling::SessionWriter::create(path).value()->append(visit).ok());
  workbench_->open_file(path);
  ASSERT_TRUE(tick_until([&] { return state().from_file(); }));
  SessionView view = workbench_->view();
  EXPECT_TRUE(view.recorded_request);
  EXPECT_EQ(view.requested.seed, 9U);
  EXPECT_EQ(view.recorded_at_ms, visit.wall_clock_ms);
  ASSERT_NE(view.recorded_device, nullptr);
  EXPECT_EQ(view.recorded_device->name, "NVIDIA H200");
  EXPECT_EQ(view.recorded_device->cublaslt_version, "13.5.1");
  workbench_->edit(with_seed(4), 0);
  EXPECT_NE(state().requested.seed, 4U) << "it cannot be changed";
  workbench_->act(Action::UseRecordedRequest);
  EXPECT_FALSE(state().from_file());
  EXPECT_EQ(state().requested.seed, 9U);
  workbench_->act(Action::Undo);
  EXPECT_TRUE(state().from_file());
  EXPECT_TRUE(workbench_->view().recorded_request);
}

TEST_F(WorkbenchTest, AVisitToTheGalleryLeavesTheUsersRequest) {
  open("");
  workbench_->open_file(kWorkspaceRecording.path());
  ASSERT_TRUE(tick_until([&] { return state().from_file(); }));
  EXPECT_FALSE(workbench_->view().recorded_request);
  ASSERT_NE(workbench_->view().recorded_device, nullptr);
  EXPECT_EQ(workbench_->view().recorded_device->name, "NVIDIA H200");
}

TEST_F(RecordingTest, ARunHasOneNameWhateverElseIsOpen) {
  const auto name = [](const profiling::Session& session) {
    return page_content(session, [](const auto& run) -> std::string_view { return run.name; })
        .runs[0]
        .name;
  };
  const std::string alone = name(read());
  const PageContent shown = page_content(
      state().results(), [](const auto& run) -> std::string_view { return run->name; });
  EXPECT_EQ(shown.runs[0].name, alone);
  EXPECT_TRUE(alone.starts_with("1. ")) << alone;
}

}  // namespace
}  // namespace app
