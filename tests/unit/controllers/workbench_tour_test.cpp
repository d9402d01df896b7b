// Tours, for the user and to pictures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "app/controllers/request_actions.h"
#include "engine/input/value_json.h"
#include "tests/unit/controllers/workbench_fixture.h"

namespace app {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

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

TEST_F(WorkbenchTest, ARequestLogIsATourWhoseStepsSayWhatTheyRun) {
  open("");
  workbench_->open_file(write("requests.jsonl", engine::to_json_text(engine::RunRequest()) + "\n"));
  ASSERT_TRUE(tick_until([&] { return tours().tour() != nullptr; }));
  EXPECT_EQ(tours().tour()->step().caption, summary_of({}));
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

}  // namespace
}  // namespace app
