// A run of which only a part has arrived: listed and shown, but no result.
#include <gtest/gtest.h>

#include "app/controllers/session_state.h"

namespace app {
namespace {

profiling::RecordedRun run_of(int seed) {
  profiling::RecordedRun run;
  run.request.seed = static_cast<std::uint64_t>(seed);
  return run;
}

TEST(ShownPreview, IsReplacedByItsWhole) {
  SessionState state;
  const SessionState::Run first = state.add_live(run_of(1));
  state.requested = run_of(2).request;
  EXPECT_TRUE(state.stale());
  state.show_preview(run_of(2));
  EXPECT_TRUE(state.shows_preview());
  EXPECT_TRUE(state.view().arriving);
  EXPECT_FALSE(state.stale()) << "it answers the request";
  EXPECT_EQ(state.runs().size(), 2U);
  EXPECT_EQ(state.run_index(), 1U);
  EXPECT_EQ(state.live_count(), 1U) << "it is no result yet";
  state.drop_preview();
  EXPECT_EQ(state.shown(), first);
  const SessionState::Run whole = state.add_live(run_of(2));
  EXPECT_EQ(state.shown(), whole);
  EXPECT_FALSE(state.shows_preview());
  EXPECT_EQ(state.runs().size(), 2U);
}

TEST(ShownPreview, TheFirstOneLeavesNothingBehind) {
  SessionState state;
  state.show_preview(run_of(1));
  ASSERT_NE(state.shown(), nullptr);
  state.drop_preview();
  EXPECT_EQ(state.shown(), nullptr);
  EXPECT_TRUE(state.runs().empty());
  state.drop_preview();
}

TEST(ShownPreview, ANewerOneReplacesIt) {
  SessionState state;
  state.show_preview(run_of(1));
  state.show_preview(run_of(2));
  EXPECT_EQ(state.runs().size(), 1U);
  EXPECT_EQ(state.shown()->request.seed, 2U);
}

TEST(ShownPreview, DoesNotTakeTheScreenFromARecording) {
  SessionState state;
  profiling::Session session;
  session.path = "a.session";
  session.runs.push_back(run_of(5));
  state.open_recording(std::move(session));
  state.show_preview(run_of(2));
  EXPECT_TRUE(state.from_file());
  EXPECT_EQ(state.shown()->request.seed, 5U);
  EXPECT_EQ(state.run_index(), 1U) << "the recording's are listed behind it";
  EXPECT_EQ(state.recorded_index(), 0U);
  state.drop_preview();
  EXPECT_EQ(state.run_index(), 0U);
  EXPECT_EQ(state.recorded_index(), 0U);
  state.show_preview(run_of(3));
  state.back_to_live();
  EXPECT_TRUE(state.shows_preview());
}

}  // namespace
}  // namespace app
