// The progress of a command: whatever share is reported, and however often.
#include "app/cli/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>
#include <thread>

namespace app::cli {
namespace {

TEST(ProgressBar, AnyShareMakesABarOfItsWidth) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(bar_text(0.5, 4), "[##..]");
  EXPECT_EQ(bar_text(1.0, 4), "[####]");
  for (const double share : {-kInfinity, -1.0, 0.0, kNan}) EXPECT_EQ(bar_text(share, 4), "[....]");
  for (const double share : {1.5, 1e300, kInfinity}) EXPECT_EQ(bar_text(share, 4), "[####]");
}

/// A line at each interval, however often there is something to show, and none before the first.
TEST(ProgressLine, ALogGetsALinePerInterval) {
  constexpr std::chrono::milliseconds kInterval{50};
  ::testing::internal::CaptureStderr();
  const auto begun = std::chrono::steady_clock::now();
  {
    ProgressLine line(ProgressLine::Style::Logged, kInterval);
    for (int i = 0; std::chrono::steady_clock::now() - begun < 10 * kInterval; ++i) {
      line.show("replaced", "step " + std::to_string(i));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  const auto spent = std::chrono::steady_clock::now() - begun;
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, ::testing::MatchesRegex("(expertscope: 0 s: step [0-9]+\n)+"));
  const auto lines = std::count(said.begin(), said.end(), '\n');
  EXPECT_GE(lines, 2);
  EXPECT_LE(lines, spent / kInterval);
}

TEST(ProgressLine, ShortWorkLeavesNothingInALog) {
  ::testing::internal::CaptureStderr();
  {
    ProgressLine line(ProgressLine::Style::Logged);
    for (int i = 0; i < 1000; ++i) line.show("replaced", "logged");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace app::cli
