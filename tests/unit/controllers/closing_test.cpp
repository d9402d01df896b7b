// A closing window: what it asks about, and when it closes.
#include "app/controllers/closing.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/controllers/files_fixture.h"

namespace app {
namespace {

class ClosingTest : public FilesFixture {
 protected:
  void SetUp() override {
    FilesFixture::SetUp();
    remembered_.folder = folder_;
  }
  /// A result that is in no file, and the order to save it and close; returns the file.
  std::string close_with_one_unsaved() {
    add();
    EXPECT_FALSE(closing_.ask());
    EXPECT_EQ(closing_.question().unsaved, 1U);
    const std::string file = closing_.question().path;
    EXPECT_FALSE(closing_.answer(CloseAnswer::Save));
    return file;
  }
  /// Whether the window closes once the save has ended.
  bool closes_after_the_save() {
    Closing::Step step;
    EXPECT_TRUE(tick_until([&] { return (step = closing_.tick()).changed; }));
    return step.close;
  }

  Closing closing_{files_, state_};
};

TEST_F(ClosingTest, AWindowClosesOnceEverythingIsSaved) {
  EXPECT_TRUE(closing_.ask()) << "nothing would be lost";
  close_with_one_unsaved();
  EXPECT_TRUE(closes_after_the_save());
}

TEST_F(ClosingTest, AResultThatComesWhileTheOthersAreSavedIsAskedAbout) {
  const std::string first = close_with_one_unsaved();
  add();
  EXPECT_FALSE(closes_after_the_save());
  EXPECT_TRUE(closing_.question().open);
  EXPECT_FALSE(closing_.question().saving);
  EXPECT_EQ(closing_.question().unsaved, 1U);
  EXPECT_NE(closing_.question().path, first) << "that name is taken";
  EXPECT_FALSE(closing_.answer(CloseAnswer::Save));
  EXPECT_TRUE(closes_after_the_save());
}

TEST_F(ClosingTest, ASecondCloseWhileSavingWaitsForTheSave) {
  const std::string path = close_with_one_unsaved();
  EXPECT_FALSE(closing_.ask());
  EXPECT_TRUE(closing_.question().saving);
  EXPECT_EQ(closing_.question().path, path);
  EXPECT_TRUE(closes_after_the_save());
}

TEST_F(ClosingTest, AWindowThatStayedOpenWhileItSavesIsNotAskedAgain) {
  const std::string path = close_with_one_unsaved();
  EXPECT_FALSE(closing_.answer(CloseAnswer::Stay));
  EXPECT_FALSE(closing_.question().open);
  EXPECT_FALSE(closing_.ask());
  EXPECT_TRUE(closing_.question().saving) << "it waits for the save in progress";
  EXPECT_EQ(closing_.question().path, path) << "and offers no second file";
  EXPECT_TRUE(closes_after_the_save());
}

TEST_F(ClosingTest, AWindowWhoseResultsCannotBeSavedStaysAndAsksNothing) {
  remembered_.folder = path("no/such");
  close_with_one_unsaved();
  EXPECT_FALSE(closes_after_the_save());
  EXPECT_FALSE(closing_.question().open);
  EXPECT_TRUE(wait_for_notice("Not saved: "));
}

}  // namespace
}  // namespace app
