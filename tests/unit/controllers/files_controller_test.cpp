// Which results a closing window would lose, and whose recordings are not changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "app/protocol/shipped_recordings.h"
#include "tests/unit/controllers/files_fixture.h"

namespace app {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;
using FilesControllerTest = FilesFixture;

TEST_F(FilesControllerTest, AResultThatASaveRefusesStaysUnsaved) {
  add();
  add_refused();
  files_.save_session(state_, path("saved.session"));
  ASSERT_TRUE(wait_for_notice("1 run saved in "));
  EXPECT_EQ(files_.unsaved(state_), 1U);
}

TEST_F(FilesControllerTest, AResultIsSafeOnceItsRecordingHasIt) {
  files_.record_to(path("recorded.session"));
  files_.record(add());
  EXPECT_EQ(files_.unsaved(state_), 0U) << "closing writes what waits";
  files_.record(add_refused());
  ASSERT_TRUE(tick_until([&] { return files_.recording_progress().waiting == 0; }));
  EXPECT_EQ(files_.unsaved(state_), 1U) << "the recording has refused the second";
  files_.toggle_recording();
  ASSERT_TRUE(wait_for_notice("1 run recorded in "));
  EXPECT_EQ(files_.unsaved(state_), 1U);
}

TEST_F(FilesControllerTest, ARecordingOfNothingLeavesNoFile) {
  files_.record_to(path("refused.session"));
  ASSERT_TRUE(tick_until([&] { return fs::exists(path("refused.session")); }));
  files_.toggle_recording();
  ASSERT_TRUE(wait_for_notice("Nothing was recorded"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(FilesControllerTest, NothingIsWrittenBesideTheRecordingsThatShip) {
  files_.remember_folder(path("mine.session"));
  EXPECT_EQ(fs::path(files_.dated_path("picture", ".png")).parent_path(), folder_);
  files_.remember_folder(kExampleRecording.path());
  EXPECT_EQ(fs::path(files_.dated_path("picture", ".png")).parent_path(), fs::current_path());
}

TEST_F(FilesControllerTest, ARecordingThatFailsKeepsNothing) {
  files_.record_to(path("no/such/folder.session"));
  files_.record(add());
  ASSERT_TRUE(wait_for_notice("The recording ended: "));
  EXPECT_EQ(files_.unsaved(state_), 1U);
}

TEST_F(FilesControllerTest, ARunMadeByItselfThatIsNoLongerAmongTheLiveOnesIsNotTakenOff) {
  const SessionState::Run first = add();
  state_.set_made_by_itself();
  EXPECT_EQ(files_.unsaved(state_), 0U);
  while (state_.live_results().runs.front() == first) add();
  EXPECT_EQ(files_.unsaved(state_), state_.live_results().runs.size());
}

TEST_F(FilesControllerTest, NotesOnARecordingThatShipsStayInTheWindow) {
  auto shipped = profiling::open_session(kExampleRecording.path());
  ASSERT_TRUE(shipped.ok()) << shipped.error().message;
  state_.open_recording(std::move(shipped).value());
  const auto before = fs::last_write_time(kExampleRecording.path());
  files_.save_notes(state_, {});
  ASSERT_TRUE(tick_until([&] { return !notices_.status_message().empty(); }));
  EXPECT_THAT(notices_.status_message(), HasSubstr("The notes stay in this window: "));
  EXPECT_EQ(fs::last_write_time(kExampleRecording.path()), before);
}

TEST_F(FilesControllerTest, WhatTheWindowHasForgottenIsNoLongerKnownToBeInAFile) {
  const auto record = [&](const SessionState::Run& run, const std::string& name) {
    files_.record_to(path(name));
    files_.record(run);
    files_.toggle_recording();
    return wait_for_notice("1 run recorded in " + path(name));
  };
  SessionState::Run first = add();
  ASSERT_TRUE(record(first, "first.session"));
  EXPECT_EQ(files_.results_in_files(), 1U);
  while (state_.live_results().runs.front() == first) add();
  first.reset();
  ASSERT_TRUE(record(state_.live_results().runs.back(), "second.session"));
  EXPECT_EQ(files_.results_in_files(), 1U) << "only the second";
}

/// No folder in which a recording could go on: neither its own, nor the current one, nor the one
/// for temporary files.
class NowhereToGo {
 public:
  explicit NowhereToGo(const std::string& folder) : before_(fs::current_path()) {
    if (const char* set = std::getenv("TMPDIR")) temporary_ = set;
    fs::create_directory(folder);
    fs::current_path(folder);
    fs::remove(folder);
    ::setenv("TMPDIR", (folder + "/none").c_str(), 1);
  }
  ~NowhereToGo() {
    fs::current_path(before_);
    temporary_ ? ::setenv("TMPDIR", temporary_->c_str(), 1) : ::unsetenv("TMPDIR");
  }
  NowhereToGo(const NowhereToGo&) = delete;
  NowhereToGo& operator=(const NowhereToGo&) = delete;

 private:
  fs::path before_;
  std::optional<std::string> temporary_;
};

TEST_F(FilesControllerTest, ARecordingThatCannotBeClosedKeepsNothing) {
  fs::create_directory(path("own"));
  files_.record_to(path("own/recorded.session"));
  files_.record(add());
  ASSERT_TRUE(tick_until([&] { return files_.recording_progress().written.runs == 1; }));
  EXPECT_EQ(files_.unsaved(state_), 0U);
  const NowhereToGo nowhere(path("gone"));
  fs::remove_all(path("own"));
  files_.toggle_recording();
  ASSERT_TRUE(wait_for_notice("The recording ended: "));
  EXPECT_EQ(files_.unsaved(state_), 1U) << "its file is gone";
  EXPECT_EQ(files_.results_in_files(), 0U);
}

TEST_F(FilesControllerTest, APageShowsTheResultsAtHandByTheirNames) {
  add();
  state_.names.give(add(), "second of <two>");
  files_.save_page(state_, path("shared"), false);
  ASSERT_TRUE(wait_for_notice("Exported: " + path("shared.html")));
  std::ifstream file(path("shared.html"));
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(page, HasSubstr("Expertscope: runs of a window"));
  EXPECT_THAT(page, HasSubstr("second of &lt;two&gt;"));
  EXPECT_THAT(page, HasSubstr("It has 2 runs."));
}

TEST_F(FilesControllerTest, APageThatCannotBeWrittenIsSaidToBeMissing) {
  add();
  files_.save_page(state_, path("no/such/folder.html"), false);
  ASSERT_TRUE(wait_for_notice("Not exported: "));
}

}  // namespace
}  // namespace app
