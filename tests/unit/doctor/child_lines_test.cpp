#include "app/doctor/child_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace app {
namespace {

using testing::ElementsAre;

TEST(ChildLines, AFullPipeOfTheOtherStreamBlocksNoChildAndTheLastLineNeedsNoNewline) {
  std::vector<std::string> lines;
  const auto start = std::chrono::steady_clock::now();
  const auto end = run_for_lines(
      {"/bin/sh", "-c", "head -c 300000 /dev/zero >&2; echo first; printf last; exit 3"},
      ChildStream::Output, [&](const std::string& line) { lines.push_back(line); },
      [&] { return std::chrono::steady_clock::now() - start > std::chrono::seconds(60); });
  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end.value(), "exited with code 3");
  EXPECT_THAT(lines, ElementsAre("first", "last"));
}

TEST(ChildLines, StoppingKillsTheChild) {
  int asked = 0;
  const auto end = run_for_lines(
      {"/bin/sh", "-c", "sleep 600"}, ChildStream::Errors, [](const std::string&) {},
      [&] { return ++asked > 3; });
  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_FALSE(end.value().has_value());
}

}  // namespace
}  // namespace app
