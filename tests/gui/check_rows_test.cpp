// A wrong output of one part must not vanish beside outputs with a part for each expert.
#include "app/gui/doctor/check_rows.h"

#include <gtest/gtest.h>

#include <vector>

namespace app {
namespace {

using profiling::OutputCheck;

TEST(CheckRows, EveryOutputIsEquallyHighHoweverManyPartsItHas) {
  const std::vector<OutputCheck> checks = {{.replay = 1, .output = "Y", .parts = 32},
                                           {.replay = 1, .output = "user tensor"},
                                           {.replay = 2, .output = "Y", .parts = 32},
                                           {.replay = 2, .output = "user tensor"}};
  const std::vector<CheckRow> rows = check_rows(checks, 40.0F, 16.0F);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].output, "user tensor");
  EXPECT_FLOAT_EQ(rows[0].height, 20.0F);
  EXPECT_FLOAT_EQ(rows[1].height, 20.0F);
  EXPECT_FLOAT_EQ(rows[1].top, 20.0F);
}

TEST(CheckRows, APartIsNoHigherThanAllowed) {
  const std::vector<OutputCheck> checks = {{.replay = 1, .output = "Y", .parts = 2}};
  const std::vector<CheckRow> rows = check_rows(checks, 400.0F, 16.0F);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_FLOAT_EQ(rows[0].height, 32.0F);
  EXPECT_TRUE(check_rows({}, 400.0F, 16.0F).empty());
}

}  // namespace
}  // namespace app
