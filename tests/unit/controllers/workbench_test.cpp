// The request, its runs and batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/controllers/workbench_fixture.h"

namespace app {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(WorkbenchTest, ComparisonsAloneMakeAPage) {
  open("");
  EXPECT_TRUE(workbench_->view().no_worker);
  EXPECT_THAT(workbench_->refusal(Action::ExportPage), HasSubstr("No run, comparison or visit"));
  state().add_live(profiling::RecordedComparison{});
  EXPECT_EQ(workbench_->refusal(Action::ExportPage), "");
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

TEST_F(WorkbenchTest, ARequestThatIsChangedToBeRunIsOneOrder) {
  open("good");
  ASSERT_TRUE(run_and_wait());
  for (const bool live : {true, false}) {
    state().live = live;
    for (const std::uint64_t seed : {98, 99, 99}) {  // the last changes nothing
      const std::uint64_t before = state().shown()->result.id;
      const std::size_t runs_before = state().live_results().runs.size();
      workbench_->edit(with_seed(seed), 0, /*run=*/true);
      ASSERT_TRUE(tick_until([&] { return state().live_results().runs.size() > runs_before; }));
      EXPECT_EQ(state().shown()->request.seed, seed);
      EXPECT_EQ(state().shown()->result.id, before + 1) << "no order was superseded";
    }
  }
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

TEST_F(WorkbenchTest, ARunThatIsAnsweredIsNoLongerTimed) {
  open("slow-answer");
  workbench_->act(Action::Run);
  ASSERT_TRUE(tick_until([&] { return runs().timing(); }));
  ASSERT_TRUE(tick_until([&] { return state().shown() != nullptr; }));
  EXPECT_FALSE(runs().timing());  // although its last pulse still stands
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

TEST_F(WorkbenchTest, AShapeThatLiveCannotFollowSaysThatLiveIsOff) {
  presets_ = {{.name = "small", .description = "", .laptop = true, .shape = {.preset = "small"}},
              {.name = "large", .description = "", .laptop = false, .shape = {.preset = "large"}}};
  open("good");
  const auto choose = [&](const std::string& preset) {
    engine::RunRequest request = state().requested;
    request.shape.preset = preset;
    workbench_->edit(request, 0);
  };
  choose("large");
  EXPECT_THAT(notices(), SizeIs(0)) << "Live was off already";
  workbench_->act(Action::ToggleLive);
  choose("small");
  EXPECT_TRUE(state().live);
  choose("large");
  EXPECT_FALSE(state().live);
  EXPECT_THAT(notices(), Contains(HasSubstr("Live is off: on a CPU")));
  choose("small");
  EXPECT_TRUE(state().live);
  EXPECT_THAT(notices(), Contains(HasSubstr("Live is on again")));
  // What the user has switched off stays off.
  workbench_->act(Action::ToggleLive);
  choose("large");
  choose("small");
  EXPECT_FALSE(state().live);
}

}  // namespace
}  // namespace app
