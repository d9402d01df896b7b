#include "app/protocol/open_orders.h"

#include <gtest/gtest.h>

namespace app {
namespace {

wire::Frame order(std::uint64_t id) {
  wire::Frame frame;
  frame.mutable_order()->set_id(id);
  return frame;
}

TEST(UnsentCommands, TheNewestOrderWins) {
  UnsentCommands unsent;
  EXPECT_FALSE(unsent.put_order(order(1)).has_value());
  EXPECT_EQ(unsent.put_order(order(2)), 1U);
  EXPECT_EQ(unsent.take()->order().id(), 2U);
  EXPECT_TRUE(unsent.empty());
  EXPECT_FALSE(unsent.take().has_value());
}

TEST(UnsentCommands, ACancelGoesBeforeALaterOrder) {
  UnsentCommands unsent;
  unsent.put_cancel();
  unsent.put_order(order(1));
  wire::FileQuestion question;
  question.set_path("first");
  unsent.put_inspection(question);
  question.set_path("second");
  unsent.put_inspection(question);
  EXPECT_TRUE(unsent.take()->has_cancel());
  EXPECT_TRUE(unsent.take()->has_order());
  EXPECT_EQ(unsent.take()->inspect_file().path(), "second");
}

TEST(UnsentCommands, AFolderDoesNotPushOutAFile) {
  UnsentCommands unsent;
  wire::FileQuestion question;
  question.set_path("x.npy");
  unsent.put_inspection(question);
  question.mutable_folder();
  for (const char* const path : {"/first", "/second"}) {
    question.set_path(path);
    unsent.put_inspection(question);
  }
  EXPECT_EQ(unsent.take()->inspect_file().path(), "x.npy");
  EXPECT_EQ(unsent.take()->inspect_file().path(), "/second");
  EXPECT_TRUE(unsent.empty());
}

TEST(UnsentCommands, ADroppedOrderIsReportedOnce) {
  UnsentCommands unsent;
  unsent.put_order(order(5));
  EXPECT_EQ(unsent.drop_order(), 5U);
  EXPECT_FALSE(unsent.drop_order().has_value());
}

}  // namespace
}  // namespace app
