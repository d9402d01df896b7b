// A program that runs to its end, and where its output goes.
#include "app/protocol/child_run.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "app/protocol/descriptor.h"

namespace app {
namespace {

class OutputToAFile : public ::testing::Test {
 protected:
  ChildEnd run(const std::string& script, const std::string& path, std::uint64_t limit) {
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    EXPECT_TRUE(file.valid());
    const auto end = run_child({.argv = {"/bin/sh", "-c", script},
                                .output_file = file.get(),
                                .output_limit = limit,
                                .received = [this](std::uint64_t bytes) { received_ = bytes; }});
    EXPECT_TRUE(end.ok() && end.value());
    return end.ok() && end.value() ? *end.value() : ChildEnd{};
  }
  static std::string contents(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  const std::string path_ = ::testing::TempDir() + "child_run_output";
  std::uint64_t received_ = 0;
};

TEST_F(OutputToAFile, EveryByteArrives) {
  constexpr std::uint64_t kBytes = 3'000'000;  // more than ChildEnd::output would hold
  const ChildEnd end = run("head -c 3000000 /dev/zero; echo a word >&2", path_, kBytes);
  EXPECT_TRUE(end.succeeded()) << end.how;
  EXPECT_EQ(end.output, "");
  EXPECT_EQ(end.errors, "a word\n");
  EXPECT_EQ(received_, kBytes);
  EXPECT_EQ(std::filesystem::file_size(path_), kBytes);
  EXPECT_TRUE(run("printf 'a\\0\\rb'", path_, 4).succeeded());
  EXPECT_EQ(contents(path_), std::string("a\0\rb", 4));
}

TEST_F(OutputToAFile, MoreThanItsLimitEndsTheProgram) {
  const ChildEnd end = run("while :; do echo more; done", path_, 1000);
  EXPECT_FALSE(end.succeeded());
  EXPECT_EQ(end.errors, "more arrived than was announced");
  EXPECT_LE(std::filesystem::file_size(path_), 1000U);
  EXPECT_FALSE(run("echo five", path_, 4).succeeded()) << "also one that has ended by itself";
}

TEST_F(OutputToAFile, AFullDiskEndsTheProgram) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  const ChildEnd end = run("head -c 100000 /dev/zero", "/dev/full", 100'000);
  EXPECT_FALSE(end.succeeded());
  EXPECT_EQ(end.errors, "what arrived cannot be written: No space left on device");
}

}  // namespace
}  // namespace app
