// The controllers together, over a worker that does nothing but answer, and without a window.
#include "app/controllers/workbench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "app/controllers/request_actions.h"
#include "engine/input/value_json.h"

namespace app {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;
namespace fs = std::filesystem;

class WorkbenchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "workbench-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    remembered_.folder = folder_;
  }
  void TearDown() override {
    workbench_.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  /// With a worker that behaves like this; empty = with none.
  void open(const std::string& mode) {
    Workbench::Options options;
    options.worker.program = FAKE_WORKER;
    options.worker.arguments = {mode};
    options.no_worker = mode.empty();
    workbench_ = std::make_unique<Workbench>(options, [] {}, remembered_);
    if (mode.empty()) return;
    runs().start_worker("");
    ASSERT_TRUE(tick_until([&] { return runs().link.hello().has_value(); }));
  }

  template <class Condition>
  bool tick_until(Condition condition) {
    const auto limit = std::chrono::steady_clock::now() + 20s;
    while (std::chrono::steady_clock::now() < limit) {
      if (condition()) return true;
      workbench_->tick();
      for (const Command& command : workbench_->take_commands()) {
        if (const auto* page = std::get_if<ShowPage>(&command)) page_ = *page;
        if (std::holds_alternative<RepeatTourStep>(command)) tours().repeat_step();
        if (const auto* action = std::get_if<Action>(&command)) workbench_->act(*action);
        if (const auto* use = std::get_if<UseRequest>(&command)) workbench_->use_request(*use);
      }
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }
  bool run_and_wait() {
    const std::size_t before = state().live_results().runs.size();
    workbench_->act(Action::Run);
    return tick_until([&] { return state().live_results().runs.size() > before; });
  }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  std::vector<std::string> notices() const {
    std::vector<std::string> texts;
    for (const Notices::Notice& one : workbench_->notices.all()) texts.push_back(one.text);
    return texts;
  }
  bool wait_for_notice(const std::string& part) {
    return tick_until([&] { return ::testing::Value(notices(), Contains(HasSubstr(part))); });
  }
  engine::RunRequest with_seed(std::uint64_t seed) const {
    engine::RunRequest request = workbench_->runs.state.requested;
    request.seed = seed;
    return request;
  }
  RunsController& runs() { return workbench_->runs; }
  SessionState& state() { return workbench_->runs.state; }
  TourController& tours() { return workbench_->tours; }

  std::string folder_;
  RememberedFiles remembered_;
  std::unique_ptr<Workbench> workbench_;
  ShowPage page_;  // the newest order
};

TEST_F(WorkbenchTest, RunsAreShownRecordedAndReadAgain) {
  open("");
  EXPECT_THAT(workbench_->refusal(Action::Run), HasSubstr("There is no worker"));
  EXPECT_EQ(workbench_->refusal(Action::SaveSession), "No run of this window to save yet");
  open("good");
  workbench_->act(Action::ToggleRecording);
  const std::string path = workbench_->files.recording_path();
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

TEST_F(WorkbenchTest, ComparisonsAloneMakeAPage) {
  open("");
  EXPECT_TRUE(workbench_->view().no_worker);
  EXPECT_THAT(workbench_->refusal(Action::ExportPage), HasSubstr("No run, comparison or visit"));
  state().add_live(profiling::RecordedComparison{});
  EXPECT_EQ(workbench_->refusal(Action::ExportPage), "");
}

TEST_F(WorkbenchTest, ARecordingThatShipsIsNotChangedByAName) {
  open("");
  workbench_->open_recording(shipped_recording());
  ASSERT_TRUE(tick_until([&] { return state().from_file(); }));
  const auto before = fs::last_write_time(shipped_recording());
  workbench_->name_run("mine");
  ASSERT_TRUE(tick_until([&] {
    return workbench_->notices.status_message().starts_with("The name stays in this window: ");
  }));
  EXPECT_EQ(fs::last_write_time(shipped_recording()), before);
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
  workbench_ = std::make_unique<Workbench>(options, [] {}, remembered_);
  state().live = true;
  runs().start_worker("");
  ASSERT_TRUE(tick_until([&] { return state().shown() != nullptr; }));
  EXPECT_EQ(workbench_->files.unsaved(state()), 0U);
  ASSERT_TRUE(run_and_wait());
  EXPECT_EQ(workbench_->files.unsaved(state()), 1U);
}

TEST_F(WorkbenchTest, AResultThatAnswersTheRequestIsNotStale) {
  open("good");
  ASSERT_TRUE(run_and_wait());
  EXPECT_TRUE(state().answers());
  engine::RunRequest same = state().requested;
  same.shape.preset = "Another name";
  same.streams = 3;  // of a backend that is not chosen
  runs().edit(same, 0);
  EXPECT_NE(state().shown()->request, state().requested);
  EXPECT_FALSE(state().stale());
  runs().edit(with_seed(99), 0);
  EXPECT_TRUE(state().stale());
  // An older run that the user has chosen answers something else, and is no newer one's stand-in.
  ASSERT_TRUE(run_and_wait());
  workbench_->act(Action::PreviousRun);
  EXPECT_FALSE(state().answers());
  EXPECT_FALSE(state().stale());
}

TEST_F(WorkbenchTest, ASelectedExpertStaysWhereARunDoesNotHaveIt) {
  open("");
  const auto add = [&](std::size_t experts) {
    profiling::RecordedRun run;
    run.result.splits.resize(experts, 1);
    state().add_live(std::move(run));
  };
  add(8);
  state().expert = 6;
  EXPECT_EQ(workbench_->view().expert, 6);
  add(4);
  EXPECT_EQ(workbench_->view().expert, -1);
  EXPECT_EQ(workbench_->view().absent_expert, 6);
  EXPECT_THAT(workbench_->view().absent_note(), HasSubstr("expert 6 is not in this run"));
  add(8);
  EXPECT_EQ(workbench_->view().expert, 6);
  EXPECT_EQ(workbench_->view().absent_note(), "");
}

TEST_F(WorkbenchTest, ARequestThatIsOpenedBecomesTheRails) {
  open("good");
  engine::RunRequest before = state().requested;
  engine::RunRequest request;
  request.seed = 77;
  request.recipe.scaling = engine::Scaling::Mxfp8;
  workbench_->open_file(write("request.json", engine::to_json_text(request, true)));
  ASSERT_TRUE(tick_until([&] { return state().requested == request; }));
  EXPECT_EQ(workbench_->tours.tour(), nullptr);
  workbench_->act(Action::Undo);
  EXPECT_EQ(state().requested, before);
}

TEST_F(WorkbenchTest, ARequestForAnotherLibraryStartsAWorkerWithIt) {
  open("good");
  const std::string library = "/tmp/other.so";
  engine::RunRequest request = with_seed(7);
  request.cublaslt_library = library;
  workbench_->open_file(write("request.json", engine::to_json_text(request)));
  ASSERT_TRUE(tick_until([&] { return workbench_->library_question() != nullptr; }));
  EXPECT_EQ(workbench_->library_question()->library, library);
  workbench_->act(Action::AllowLibrary);
  const std::vector<Command> allowed = workbench_->take_commands();
  ASSERT_THAT(allowed, SizeIs(1));
  ASSERT_TRUE(std::holds_alternative<StartWorker>(allowed[0]));
  EXPECT_EQ(std::get<StartWorker>(allowed[0]).cublaslt, library);
}

TEST_F(WorkbenchTest, AWindowWithoutAWorkerStartsNoneForALibrary) {
  open("");
  engine::RunRequest request = with_seed(7);
  request.cublaslt_library = "/tmp/other.so";
  const auto none = [&] {
    return !runs().link.started() && workbench_->library_question() == nullptr;
  };
  workbench_->use_request({request, "request.json"});
  EXPECT_TRUE(none()) << "a request of a file";
  EXPECT_EQ(state().requested.cublaslt_library, "/tmp/other.so");
  workbench_->act(Action::Undo);
  EXPECT_TRUE(none()) << "back to the request before it";
  workbench_->act(Action::Redo);
  EXPECT_TRUE(none());
  workbench_->use_library("/tmp/third.so");
  EXPECT_TRUE(none()) << "one that was fetched";
  runs().start_worker("/tmp/third.so");
  EXPECT_TRUE(none()) << "one that was chosen in the rail";
  EXPECT_EQ(workbench_->notices.status_message(), "This window was opened without a worker");
  runs().set_live(true);
  EXPECT_TRUE(none());
  EXPECT_THAT(notices(), SizeIs(0));
}

TEST_F(WorkbenchTest, SplitsThatAreOpenedDuringATourChangeTheUsersOwnRequest) {
  open("good");
  runs().edit(with_seed(5), 0);
  workbench_->open_file(write("tour.json", R"({"steps": [
      {"name": "a", "caption": "one", "page": "numerics", "request": {"seed": "41"}}]})"));
  ASSERT_TRUE(tick_until([&] { return state().requested.seed == 41; }));
  ASSERT_NE(tours().before(), nullptr);
  EXPECT_EQ(tours().before()->request.seed, 5U);
  workbench_->open_file(write("splits.json", "[5, 0, 7]"));
  ASSERT_TRUE(tick_until(
      [&] { return state().requested.routing.distribution == engine::RoutingDistribution::File; }));
  EXPECT_EQ(state().requested.seed, 5U);
  EXPECT_EQ(tours().tour(), nullptr);
  EXPECT_EQ(tours().before(), nullptr);
}

TEST_F(WorkbenchTest, SplitsThatAreOpenedBecomeTheRouting) {
  open("good");
  const std::string path = write("splits.json", "[5, 0, 7]");
  workbench_->open_file(path);
  ASSERT_TRUE(tick_until(
      [&] { return state().requested.routing.distribution == engine::RoutingDistribution::File; }));
  EXPECT_EQ(state().requested.routing.path, path);
  EXPECT_EQ(state().requested.shape.num_experts, 3);
}

TEST_F(WorkbenchTest, ARequestLogIsATourWhoseStepsSayWhatTheyRun) {
  open("");
  workbench_->open_file(write("requests.jsonl", engine::to_json_text(engine::RunRequest()) + "\n"));
  ASSERT_TRUE(tick_until([&] { return tours().tour() != nullptr; }));
  EXPECT_EQ(tours().tour()->step().caption, summary_of({}));
}

TEST_F(WorkbenchTest, WhatCannotBeReadOrWrittenIsSaid) {
  open("");
  workbench_->open_file(folder_ + "/none.session");
  ASSERT_TRUE(wait_for_notice("Not opened: "));
  EXPECT_NE(state().file_error, "");
  EXPECT_EQ(state().last_error, "") << "it blocks no run";
  workbench_->open_file(folder_);
  EXPECT_THAT(notices(), Contains(HasSubstr("files of a folder")));
  workbench_->open_file("picture.bmp");
  EXPECT_THAT(notices(), Contains(HasSubstr("cannot be opened: supported are recordings")));
  workbench_->files.save_text(folder_ + "/no/such/folder.txt", "text", "done");
  ASSERT_TRUE(wait_for_notice("Not saved: "));
  workbench_->files.save_text(folder_ + "/a.txt", "text", "It is there");
  EXPECT_TRUE(wait_for_notice("It is there"));
}

TEST_F(WorkbenchTest, EditsAreStepsAndADragIsOne) {
  open("");
  EXPECT_EQ(workbench_->refusal(Action::Undo), "Nothing to undo: no control was changed yet");
  const engine::RunRequest first = state().requested;
  runs().edit(with_seed(11), 0);
  for (std::uint64_t seed = 12; seed < 20; ++seed) runs().edit(with_seed(seed), 3);
  workbench_->act(Action::Undo);
  EXPECT_EQ(state().requested.seed, 11U);
  EXPECT_THAT(workbench_->notices.status_message(), HasSubstr("Undone: "));
  workbench_->act(Action::Undo);
  EXPECT_EQ(state().requested, first);
  workbench_->act(Action::Redo);
  workbench_->act(Action::Redo);
  EXPECT_EQ(state().requested.seed, 19U);
}

TEST_F(WorkbenchTest, LiveRunsEveryEditAndTheNewestWins) {
  open("good");
  workbench_->act(Action::ToggleLive);
  for (std::uint64_t seed = 1; seed < 6; ++seed) runs().edit(with_seed(100 + seed), 0);
  ASSERT_TRUE(tick_until(
      [&] { return state().shown() != nullptr && state().shown()->request.seed == 105; }));
  EXPECT_FALSE(state().stale());
}

TEST_F(WorkbenchTest, ALibraryThatOnlyAFileNamesWaitsForTheAnswer) {
  open("good");
  engine::RunRequest request = with_seed(7);
  request.cublaslt_library = "/tmp/stranger.so";
  workbench_->begin_with(request, "stranger.json", false);
  workbench_->act(Action::Run);
  ASSERT_NE(workbench_->library_question(), nullptr);
  EXPECT_EQ(workbench_->library_question()->file, "stranger.json");
  EXPECT_FALSE(runs().link.waiting());
  workbench_->act(Action::RefuseLibrary);
  EXPECT_EQ(workbench_->library_question(), nullptr);
  EXPECT_EQ(state().requested.cublaslt_library, "");
  EXPECT_EQ(workbench_->refusal(Action::AllowLibrary), "No file asks for a library");
  runs().edit(request, 0);
  workbench_->act(Action::Run);
  workbench_->act(Action::AllowLibrary);
  EXPECT_TRUE(tick_until([&] { return state().shown() != nullptr; }));
}

TEST_F(WorkbenchTest, ATourGivesEverythingBack) {
  open("good");
  runs().edit(with_seed(5), 0);
  state().live = true;
  tours().frame_drawn({.page = Page::Compare});
  const std::string path = write("tour.json", R"({"title": "t", "steps": [
      {"name": "a", "caption": "one", "page": "numerics", "view": "recipes",
       "request": {"seed": "41"}},
      {"name": "b", "caption": "two", "page": "performance", "request": {"seed": "42"},
       "select": {"expert": 3}}]})");
  workbench_->open_file(path);
  const auto shows = [&](std::size_t index) {
    return tick_until([&] {
      const Tour* tour = tours().tour();
      return tour != nullptr && tour->index() == index && tour->phase() == Tour::Phase::Show;
    });
  };
  ASSERT_TRUE(shows(0));
  EXPECT_EQ(page_.page, Page::Numerics);
  EXPECT_EQ(page_.view, "recipes");
  EXPECT_EQ(state().shown()->request.seed, 41U);
  EXPECT_EQ(workbench_->refusal(Action::TourBack), "This is the first step");
  workbench_->act(Action::TourNext);
  ASSERT_TRUE(shows(1));
  EXPECT_EQ(state().shown()->request.seed, 42U);
  EXPECT_EQ(state().expert, 3);
  const std::size_t known = state().live_results().runs.size();
  workbench_->act(Action::TourBack);
  ASSERT_TRUE(shows(0));
  EXPECT_EQ(state().live_results().runs.size(), known) << "the step's run is still at hand";
  workbench_->close_front();
  EXPECT_EQ(tours().tour(), nullptr);
  EXPECT_EQ(state().requested.seed, 5U);
  EXPECT_TRUE(state().live);
  tick_until([&] { return page_.page == Page::Compare; });
  EXPECT_EQ(page_.page, Page::Compare);
}

TEST_F(WorkbenchTest, ATourToPicturesMakesOneOfEachStepAndARecording) {
  open("good");
  const std::string path = write("tour.json", R"({"title": "t", "steps": [
      {"name": "same", "caption": "one", "page": "numerics", "request": {"seed": "41"}},
      {"name": "same", "caption": "two", "page": "numerics", "request": {"seed": "42"}}]})");
  const std::string folder = folder_ + "/pictures";
  tours().play_to_pictures(path, folder);
  std::vector<std::string> pictures;
  std::optional<TourController::End> end;
  ASSERT_TRUE(tick_until([&] {
    tours().frame_drawn({});
    if (const auto picture = tours().wanted_picture()) {
      pictures.push_back(*picture);
      std::ofstream(*picture) << "a picture";
      tours().picture_written("");
    }
    return (end = tours().take_end()).has_value();
  }));
  EXPECT_TRUE(end->complete) << end->text;
  EXPECT_THAT(pictures, ::testing::ElementsAre(folder + "/same.png", folder + "/same-2.png"));
  EXPECT_EQ(end->text, folder + "/tour.session");
  EXPECT_TRUE(fs::exists(end->text));
  EXPECT_GT(fs::file_size(folder + "/tour.html"), 1000U);
}

TEST_F(WorkbenchTest, ATourToPicturesFailsWithoutItsResult) {
  const auto end_of = [&](const std::string& request) {
    open("good");
    tours().play_to_pictures(write("tour.json", R"({"steps": [{"name": "a", "caption": "b",
        "page": "numerics", "seconds": 1, "request": )" +
                                                    request + "}]}"),
                             folder_ + "/pictures");
    std::optional<TourController::End> end;
    tick_until([&] { return (end = tours().take_end()).has_value(); });
    return end.value_or(TourController::End{.complete = true, .text = "no end"});
  };
  const TourController::End stranger = end_of(R"({"cublaslt_library": "/tmp/stranger.so"})");
  EXPECT_FALSE(stranger.complete);
  EXPECT_THAT(stranger.text, HasSubstr("--allow-library /tmp/stranger.so"));
  EXPECT_THAT(end_of(R"({"no_such_field": 1})").text, HasSubstr("no_such_field"));
}

TEST_F(WorkbenchTest, ATourToPicturesIsReadOnAThreadAndAnUnreadableOneEndsWithItsError) {
  open("good");
  const std::string path = write("tour.json", R"({"steps": 1})");
  const std::string folder = folder_ + "/pictures";
  state().live = true;
  tours().play_to_pictures(path, folder);
  EXPECT_FALSE(tours().take_end().has_value()) << "it was read by the caller";
  EXPECT_FALSE(state().live);
  std::optional<TourController::End> end;
  ASSERT_TRUE(tick_until([&] { return (end = tours().take_end()).has_value(); }));
  EXPECT_FALSE(end->complete);
  EXPECT_EQ(
      end->text,
      path +
          ": it must be a tour (an object with a list \"steps\"), a request or a list of splits");
  EXPECT_THAT(notices(), ::testing::IsEmpty());
  EXPECT_FALSE(fs::exists(folder + "/tour.session"));
}

TEST_F(WorkbenchTest, AStalledRunShowsTheDoctorAndEndsLive) {
  open("stall-in-run");
  state().live = true;
  workbench_->act(Action::Run);
  ASSERT_TRUE(tick_until([&] { return !state().live_results().visits.empty(); }));
  EXPECT_FALSE(state().live);
  EXPECT_EQ(page_.page, Page::Graphs);
  EXPECT_EQ(page_.view, "doctor");
  EXPECT_THAT(notices(), Contains(HasSubstr("The run stalled: ")));
}

TEST_F(WorkbenchTest, ABatchWithoutAWorkerSaysWhyAndOneWithRuns) {
  open("");
  runs().start(SweepOrder{});
  EXPECT_THAT(runs().batch().error, HasSubstr("start one first"));
  open("good");
  engine::RunRequest other = with_seed(9);
  runs().start(InterleavedOrder{.a = with_seed(8), .b = other});
  EXPECT_TRUE(runs().batch_running());
  EXPECT_EQ(workbench_->refusal(Action::Cancel), "");
  ASSERT_TRUE(tick_until([&] { return !runs().batch_running(); }));
  EXPECT_EQ(runs().batch().state, BatchState::Done) << runs().batch().error;
  EXPECT_EQ(state().shown()->group.kind, profiling::GroupKind::Interleaved);
}

}  // namespace
}  // namespace app
