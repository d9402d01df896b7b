#include "app/gui/shell/library_consent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace app {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LibraryConsentTest : public ::testing::Test {
 protected:
  void ask(const std::string& library, const std::string& order) {
    consent_.ask(library, order, [this, order] { done_.push_back(order); });
  }
  void answer(bool yes) {
    for (const auto& then : consent_.answer(yes)) {
      if (yes) then();
    }
  }
  LibraryConsent consent_;
  std::vector<std::string> done_;
};

TEST_F(LibraryConsentTest, WaitingRequestsAreDoneInTheOrderOfTheQuestions) {
  ask("/x.so", "worker");
  ask("/x.so", "run");
  ask("/x.so", "comparison");
  ask("/x.so", "run");  // newest wins
  EXPECT_FALSE(consent_.allows("/x.so"));
  answer(true);
  EXPECT_THAT(done_, ElementsAre("worker", "comparison", "run"));
  EXPECT_TRUE(consent_.allows("/x.so"));
  EXPECT_EQ(consent_.question(), nullptr);
}

TEST_F(LibraryConsentTest, EachLibraryIsASeparateQuestionAndNamesItsFile) {
  consent_.named("/x.so", "a.session");
  consent_.named("/y.so", "b.json");
  consent_.named("", "c.json");
  ask("/x.so", "run");
  ask("/y.so", "visit");
  ASSERT_NE(consent_.question(), nullptr);
  EXPECT_EQ(consent_.question()->file, "a.session");
  answer(false);
  ASSERT_NE(consent_.question(), nullptr);
  EXPECT_EQ(consent_.question()->library, "/y.so");
  EXPECT_EQ(consent_.question()->file, "b.json");
  answer(true);
  EXPECT_THAT(done_, ElementsAre("visit"));
  EXPECT_THAT(consent_.allowed(), ElementsAre("/y.so"));
}

TEST_F(LibraryConsentTest, AQuestionWithoutAWaitingRequestIsRemoved) {
  ask("/x.so", "tour");
  ask("/y.so", "run");
  consent_.withdraw("tour");
  ASSERT_NE(consent_.question(), nullptr);
  EXPECT_EQ(consent_.question()->library, "/y.so");
  ask("/z.so", "run");  // the run now asks for another one
  EXPECT_EQ(consent_.question()->library, "/z.so");
  answer(false);
  EXPECT_EQ(consent_.question(), nullptr);
  EXPECT_THAT(consent_.answer(true), IsEmpty());
  EXPECT_THAT(consent_.allowed(), IsEmpty());
}

}  // namespace
}  // namespace app
