// The name under which a recording goes on beside one that cannot be written any more.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "profiling/session/recording_file.h"
#include "tests/unit/session/sample_recording.h"

namespace profiling {
namespace {

TEST(FreeName, CountsUp) {
  const ScratchFolder folder;
  const auto after = [&](const char* name) {
    return std::filesystem::path(free_name_beside(folder.file(name))).filename().string();
  };
  const auto write = [&](const char* name) { std::ofstream(folder.file(name)) << "x"; };
  EXPECT_EQ(after("x.session"), "x-2.session");
  EXPECT_EQ(after("gemm-64.session"), "gemm-64-2.session") << "a name that a person chose";
  write("x.session");
  EXPECT_EQ(after("x-2.session"), "x-3.session");
  EXPECT_EQ(newest_name_beside(folder.file("x.session")), "");
  write("x-2.session");
  EXPECT_EQ(newest_name_beside(folder.file("x.session")), folder.file("x-2.session"));
  EXPECT_EQ(newest_name_beside(folder.file("x-2.session")), "");
  write("x-3.session-wal");
  EXPECT_EQ(after("x-2.session"), "x-4.session");
  EXPECT_EQ(after("x-99999999999999999999.session"), "x-99999999999999999999-2.session");
}

}  // namespace
}  // namespace profiling
