#include "app/protocol/unsent_commands.h"

#include <gtest/gtest.h>

namespace app {
namespace {

wire::Frame run(std::uint64_t id) {
  wire::Frame frame;
  frame.mutable_run()->set_id(id);
  return frame;
}

TEST(UnsentCommands, TheNewestJobWins) {
  UnsentCommands unsent;
  EXPECT_FALSE(unsent.put_job(1, run(1)).has_value());
  EXPECT_EQ(unsent.put_job(2, run(2)), 1U);
  EXPECT_EQ(unsent.take()->run().id(), 2U);
  EXPECT_TRUE(unsent.empty());
  EXPECT_FALSE(unsent.take().has_value());
}

TEST(UnsentCommands, ACancelGoesBeforeALaterJob) {
  UnsentCommands unsent;
  unsent.put_cancel();
  unsent.put_job(1, run(1));
  unsent.put_inspection("first");
  unsent.put_inspection("second");
  EXPECT_TRUE(unsent.take()->has_cancel());
  EXPECT_TRUE(unsent.take()->has_run());
  EXPECT_EQ(unsent.take()->inspect_file().path(), "second");
}

TEST(UnsentCommands, ADroppedJobIsReportedOnce) {
  UnsentCommands unsent;
  unsent.put_job(5, run(5));
  EXPECT_EQ(unsent.drop_job(), 5U);
  EXPECT_FALSE(unsent.drop_job().has_value());
}

}  // namespace
}  // namespace app
