#include "app/controllers/library_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace app {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LibraryConsentTest : public ::testing::Test {
 protected:
  /// The kinds of the orders that waited.
  std::vector<std::size_t> answer(bool yes) {
    std::vector<std::size_t> kinds;
    for (const Command& order : consent_.answer(yes)) kinds.push_back(order.index());
    return kinds;
  }
  static std::size_t kind(const Command& order) { return order.index(); }
  LibraryConsent consent_;
};

TEST_F(LibraryConsentTest, WaitingRequestsAreDoneInTheOrderOfTheQuestions) {
  consent_.ask("/x.so", StartWorker{"/x.so"});
  consent_.ask("/x.so", Action::Run);
  consent_.ask("/x.so", engine::ComparisonRequest{});
  consent_.ask("/x.so", Action::Run);  // newest wins
  EXPECT_FALSE(consent_.allows("/x.so"));
  EXPECT_THAT(answer(true), ElementsAre(kind(StartWorker{}), kind(engine::ComparisonRequest{}),
                                        kind(Action::Run)));
  EXPECT_TRUE(consent_.allows("/x.so"));
  EXPECT_EQ(consent_.question(), nullptr);
}

TEST_F(LibraryConsentTest, EachLibraryIsASeparateQuestionAndNamesItsFile) {
  consent_.named("/x.so", "a.session");
  consent_.named("/y.so", "b.json");
  consent_.named("", "c.json");
  consent_.ask("/x.so", Action::Run);
  consent_.ask("/y.so", VisitOrder{});
  ASSERT_NE(consent_.question(), nullptr);
  EXPECT_EQ(consent_.question()->file, "a.session");
  answer(false);
  ASSERT_NE(consent_.question(), nullptr);
  EXPECT_EQ(consent_.question()->library, "/y.so");
  EXPECT_EQ(consent_.question()->file, "b.json");
  EXPECT_THAT(answer(true), ElementsAre(kind(VisitOrder{})));
  EXPECT_THAT(consent_.allowed(), ElementsAre("/y.so"));
}

TEST_F(LibraryConsentTest, AQuestionWithoutAWaitingRequestIsRemoved) {
  consent_.ask("/x.so", RepeatTourStep{});
  consent_.ask("/y.so", Action::Run);
  consent_.withdraw<RepeatTourStep>();
  ASSERT_NE(consent_.question(), nullptr);
  EXPECT_EQ(consent_.question()->library, "/y.so");
  consent_.ask("/z.so", Action::Run);  // the run now asks for another one
  EXPECT_EQ(consent_.question()->library, "/z.so");
  answer(false);
  EXPECT_EQ(consent_.question(), nullptr);
  EXPECT_THAT(consent_.answer(true), IsEmpty());
  EXPECT_THAT(consent_.allowed(), IsEmpty());
}

}  // namespace
}  // namespace app
