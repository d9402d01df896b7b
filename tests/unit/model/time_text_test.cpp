// The unit of a time fits its figure after rounding.
#include "engine/model/time_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace engine {
namespace {

TEST(TimeText, TheUnitIsChosenAfterRounding) {
  EXPECT_EQ(time_text(999.0), "999 ns");
  EXPECT_EQ(time_text(999.94), "999.9 ns");
  EXPECT_EQ(time_text(999.96), "1.000 \u00b5s");
  EXPECT_EQ(time_text(999'940.0), "999.9 \u00b5s");
  EXPECT_EQ(time_text(999'960.0), "1.000 ms");
  EXPECT_EQ(time_text(999'940'000.0), "999.9 ms");
  EXPECT_EQ(time_text(999'960'000.0), "1.000 s");
  EXPECT_EQ(time_text(2e9), "2.000 s");
  EXPECT_EQ(time_text(12'345e9), "12345 s");
  EXPECT_EQ(time_text(-999'960.0), "-1.000 ms");
  EXPECT_EQ(time_text(std::numeric_limits<double>::quiet_NaN()), "n/a");
}

TEST(TimeText, ARangeHasOneUnitWhereBothEndsHaveIt) {
  EXPECT_EQ(time_range_text(298e6, 310e6), "298.0 to 310.0 ms");
  EXPECT_EQ(time_range_text(298e6, 2e9), "298.0 ms to 2.000 s");
  EXPECT_EQ(time_range_text(1'000'000, 1'010'000, "\u2013"), "1.000\u20131.010 ms");
  // 999.96 us are shown as a millisecond.
  EXPECT_EQ(time_range_text(999'960, 1'010'000), "1.000 to 1.010 ms");
}

}  // namespace
}  // namespace engine
