#include "app/controllers/request_history.h"

#include <gtest/gtest.h>

namespace app {
namespace {

engine::RunRequest with_tokens(std::int64_t tokens) {
  engine::RunRequest request;
  request.shape.rows = tokens;
  return request;
}

TEST(RequestHistory, UndoneAndRedoneInOrder) {
  RequestHistory history;
  EXPECT_FALSE(history.undo());
  history.changed(with_tokens(16), with_tokens(32), 0);
  history.changed(with_tokens(32), with_tokens(64), 0);
  EXPECT_EQ(history.undo()->request, with_tokens(32));
  EXPECT_EQ(history.undo()->request, with_tokens(16));
  EXPECT_FALSE(history.undo());
  EXPECT_EQ(history.redo()->request, with_tokens(32));
  EXPECT_EQ(history.redo()->request, with_tokens(64));
  EXPECT_FALSE(history.redo());
}

TEST(RequestHistory, ADragIsOneStep) {
  RequestHistory history;
  for (std::int64_t tokens = 0; tokens < 500; ++tokens) {
    history.changed(with_tokens(tokens), with_tokens(tokens + 1), 7);
  }
  EXPECT_EQ(history.undo_depth(), 1U);
  EXPECT_EQ(history.undo()->request, with_tokens(0));
  EXPECT_EQ(history.redo()->request, with_tokens(500));
  history.changed(with_tokens(500), with_tokens(501), 8);
  EXPECT_EQ(history.undo_depth(), 2U);
}

TEST(RequestHistory, ADragBackToItsStartLeavesNoStep) {
  RequestHistory history;
  history.changed(with_tokens(16), with_tokens(17), 3);
  history.changed(with_tokens(17), with_tokens(16), 3);
  EXPECT_EQ(history.undo_depth(), 0U);
}

TEST(RequestHistory, AChangeDropsWhatWasUndone) {
  RequestHistory history;
  history.changed(with_tokens(16), with_tokens(32), 0);
  ASSERT_TRUE(history.undo());
  history.changed(with_tokens(16), with_tokens(48), 0);
  EXPECT_EQ(history.redo_depth(), 0U);
  EXPECT_EQ(history.undo()->request, with_tokens(16));
}

TEST(RequestHistory, ATakenOverRequestIsAStepEvenIfItWasTheSame) {
  RequestHistory history;
  const RecordedPlace place{"a.session", 3};
  history.took_over(with_tokens(16), with_tokens(16), place);
  ASSERT_EQ(history.undo_depth(), 1U);
  EXPECT_EQ(history.next_from(), std::nullopt);
  EXPECT_EQ(history.undo()->from, place);
  EXPECT_EQ(history.next_from(), place);
  EXPECT_EQ(history.redo()->from, place);
  history.changed(with_tokens(16), with_tokens(32), 0);
  EXPECT_EQ(history.undo()->from, std::nullopt);
}

TEST(RequestHistory, IsBounded) {
  RequestHistory history;
  const auto many = static_cast<std::int64_t>(RequestHistory::kMaxSteps) + 50;
  for (std::int64_t i = 0; i < many; ++i) history.changed(with_tokens(i), with_tokens(i + 1), 0);
  EXPECT_EQ(history.undo_depth(), RequestHistory::kMaxSteps);
}

TEST(RequestHistory, SaysWhatChanged) {
  const std::string words = request_difference(with_tokens(16), with_tokens(32));
  EXPECT_NE(words.find("Rows"), std::string::npos) << words;
  EXPECT_NE(words.find("16"), std::string::npos) << words;
  EXPECT_NE(words.find("32"), std::string::npos) << words;
  EXPECT_EQ(request_difference(with_tokens(16), with_tokens(16)), "");
}

TEST(RequestHistory, BothSidesOfADifferenceCanBeSaid) {
  const DifferenceSides sides = difference_sides(with_tokens(16), with_tokens(32));
  EXPECT_EQ(sides.a, "Rows 16");
  EXPECT_EQ(sides.b, "Rows 32");
  EXPECT_EQ(difference_sides(with_tokens(16), with_tokens(16)).b, "");
}

}  // namespace
}  // namespace app
