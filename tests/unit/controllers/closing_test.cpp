// A closing window: what it asks about, and when it closes.
#include "app/controllers/closing.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/controllers/files_fixture.h"

namespace app {
namespace {

using ClosingTest = FilesFixture;

TEST_F(ClosingTest, AWindowClosesOnceEverythingIsSaved) {
  Closing closing(files_, state_);
  EXPECT_TRUE(closing.ask()) << "nothing would be lost";
  remembered_.folder = folder_;
  add();
  EXPECT_FALSE(closing.ask());
  EXPECT_EQ(closing.question().unsaved, 1U);
  EXPECT_FALSE(closing.answer(CloseAnswer::Save));
  Closing::Step step;
  ASSERT_TRUE(tick_until([&] { return (step = closing.tick()).changed; }));
  EXPECT_TRUE(step.close);
}

TEST_F(ClosingTest, AResultThatComesWhileTheOthersAreSavedIsAskedAbout) {
  remembered_.folder = folder_;
  Closing closing(files_, state_);
  add();
  EXPECT_FALSE(closing.ask());
  const std::string first = closing.question().path;
  EXPECT_FALSE(closing.answer(CloseAnswer::Save));
  add();
  Closing::Step step;
  ASSERT_TRUE(tick_until([&] { return (step = closing.tick()).changed; }));
  EXPECT_FALSE(step.close);
  EXPECT_TRUE(closing.question().open);
  EXPECT_FALSE(closing.question().saving);
  EXPECT_EQ(closing.question().unsaved, 1U);
  EXPECT_NE(closing.question().path, first) << "that name is taken";
  EXPECT_FALSE(closing.answer(CloseAnswer::Save));
  ASSERT_TRUE(tick_until([&] { return (step = closing.tick()).changed; }));
  EXPECT_TRUE(step.close);
}

TEST_F(ClosingTest, ASecondCloseWhileSavingWaitsForTheSave) {
  remembered_.folder = folder_;
  Closing closing(files_, state_);
  add();
  EXPECT_FALSE(closing.ask());
  const std::string path = closing.question().path;
  EXPECT_FALSE(closing.answer(CloseAnswer::Save));
  EXPECT_FALSE(closing.ask());
  EXPECT_TRUE(closing.question().saving);
  EXPECT_EQ(closing.question().path, path);
  Closing::Step step;
  ASSERT_TRUE(tick_until([&] { return (step = closing.tick()).changed; }));
  EXPECT_TRUE(step.close);
}

TEST_F(ClosingTest, AWindowWhoseResultsCannotBeSavedStaysAndAsksNothing) {
  remembered_.folder = path("no/such");
  Closing closing(files_, state_);
  add();
  EXPECT_FALSE(closing.ask());
  EXPECT_FALSE(closing.answer(CloseAnswer::Save));
  Closing::Step step;
  ASSERT_TRUE(tick_until([&] { return (step = closing.tick()).changed; }));
  EXPECT_FALSE(step.close);
  EXPECT_FALSE(closing.question().open);
  EXPECT_TRUE(wait_for_notice("Not saved: "));
}

}  // namespace
}  // namespace app
