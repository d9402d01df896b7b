// What a machine says about itself, and which machines a worker is sent to.
#include "app/remote/machine.h"
#include "app/remote/remote_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view kServer =
    "Welcome to a machine whose profile prints\n"
    "machine=x86_64\nsystem=Ubuntu 24.04.1 LTS\nglibc=2.39\ncores=16\n"
    "glibcxx=3.4.9\nglibcxx=3.4.33\nglibcxx=3.4.4\n"
    "gpu=0, NVIDIA H200, 143771 MiB, 580.95.05\ngpu=1, NVIDIA H200, 143771 MiB, 580.95.05\n"
    "driver=\ntoolkit=13.0\npython=3.12\ncache=/home/a b/.cache/expertscope\nfree_kib=1048576\n"
    "bundle=abc\ncublaslt=13.10.0.20\nin_use=abc\nend=yes\n";

TEST(Machine, WhatItSaysIsRead) {
  const auto read = parse_machine(kServer);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const MachineFacts& machine = read.value();
  EXPECT_EQ(machine.glibc, "2.39");
  EXPECT_EQ(machine.glibcxx, "3.4.33") << "the newest by number, not by text";
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(machine.gpus[1].index, 1);
  EXPECT_EQ(machine.gpus[1].name, "NVIDIA H200");
  EXPECT_EQ(machine.gpus[1].memory, "143771 MiB");
  EXPECT_EQ(machine.driver, "580.95.05") << "nvidia-smi's, where /proc has none";
  EXPECT_EQ(machine.cache, "/home/a b/.cache/expertscope");
  EXPECT_EQ(machine.free_bytes, std::int64_t{1} << 30);
  EXPECT_THAT(machine.cublaslt, ElementsAre("13.10.0.20"));
  EXPECT_THAT(machine.in_use, ElementsAre("abc"));
  EXPECT_FALSE(machine.has_bundle);
  EXPECT_EQ(machine_words(machine),
            "2 x NVIDIA H200, driver 580.95.05, CUDA 13.0, Ubuntu 24.04.1 LTS, glibc 2.39, 16 "
            "cores, 1.00 GiB free");
}

TEST(Machine, AnAnswerThatEndsEarlyIsNone) {
  const std::string text(kServer);
  EXPECT_FALSE(parse_machine(text.substr(0, text.find("end=yes"))).ok());
  EXPECT_FALSE(parse_machine("").ok());
  EXPECT_FALSE(parse_machine("end=yes\n").ok()) << "it names no place to keep anything";
  EXPECT_FALSE(parse_machine("cache=relative\nend=yes\n").ok());
}

TEST(Machine, WhatItSaysCannotChangeATerminal) {
  const auto read = parse_machine("cache=/c\nsystem=\x1b[31mred\x07\nend=yes\n");
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(read.value().system, Not(HasSubstr("\x1b")));
}

MachineFacts machine_with(std::string glibc, std::string glibcxx) {
  MachineFacts machine;
  machine.architecture = "x86_64";
  machine.glibc = std::move(glibc);
  machine.glibcxx = std::move(glibcxx);
  return machine;
}

TEST(Machine, ItsOwnCxxLibraryIsUsedWhereItIsNewEnough) {
  for (const auto& [glibc, glibcxx] : {std::pair("2.35", "3.4.30"), {"2.39", "3.4.33"}}) {
    const BundleFit fit = bundle_fit(machine_with(glibc, glibcxx));
    EXPECT_THAT(fit.refused, IsEmpty());
    EXPECT_FALSE(fit.own_cxx_library);
  }
}

TEST(Machine, TheBundledCxxLibraryNeedsItsGlibc) {
  EXPECT_TRUE(bundle_fit(machine_with("2.36", "3.4.29")).own_cxx_library);
  EXPECT_TRUE(bundle_fit(machine_with("2.36", "")).own_cxx_library);
  EXPECT_THAT(bundle_fit(machine_with("2.35", "3.4.29")).refused, HasSubstr("GLIBCXX_3.4.29"));
  EXPECT_THAT(bundle_fit(machine_with("2.35", "")).refused, HasSubstr("is missing"));
}

TEST(Machine, RefusalsNameWhatItHas) {
  EXPECT_THAT(bundle_fit(machine_with("2.34", "3.4.30")).refused, HasSubstr("glibc 2.34"));
  EXPECT_THAT(bundle_fit(machine_with("", "3.4.30")).refused, HasSubstr("not glibc"));
  MachineFacts arm = machine_with("2.39", "3.4.33");
  arm.architecture = "aarch64";
  EXPECT_THAT(bundle_fit(arm).refused, HasSubstr("aarch64"));
}

}  // namespace
/// ssh ends its lines with \r\n.
TEST(RemoteScript, TheLastLineHasNoEndOfALine) {
  EXPECT_EQ(last_line("a\r\nName or service not known\r\n", ""), "Name or service not known");
  EXPECT_EQ(last_line("one\ntwo\n\n", ""), "two");
  EXPECT_EQ(last_line("\r\n", "nothing"), "nothing");
  EXPECT_EQ(last_line("one", ""), "one");
}

}  // namespace app
