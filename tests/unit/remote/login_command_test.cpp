// What ssh is given to start a program as a login would, run by the shells that are here.
#include "app/remote/login_command.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "app/protocol/child_run.h"

namespace app {
namespace {

using testing::Contains;
using testing::HasSubstr;

class LoginCommandTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/login-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::filesystem::create_directory(folder_ + "/a bundle");
    const std::string agent = folder_ + "/a bundle/" + std::string(kAttachAgent);
    std::ofstream(agent)
        << "#!/bin/sh\nprintf '[%s]' \"$PROFILE\" \"$LD_LIBRARY_PATH\" \"$BEFORE\" "
           "\"$@\"; cat; echo error >&2\n";
    std::filesystem::permissions(agent, std::filesystem::perms::owner_all);
    std::ofstream(folder_ + "/.profile")
        << "echo welcome; read -r line; PROFILE=read; export PROFILE; "
           "LD_LIBRARY_PATH=/of/profile; export LD_LIBRARY_PATH\n";
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  ChildEnd run(const std::string& shell, const std::string& command) const {
    auto end = run_child({.argv = {"/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "HOME=" + folder_,
                                   "SHELL=" + shell, shell, "-c", command},
                          .input = "of the agent"});
    EXPECT_TRUE(end.ok() && end.value());
    return end.ok() && end.value() ? *end.value() : ChildEnd{};
  }
  WorkerCommand worker() const {
    return {.program = folder_ + "/a bundle/expertscope-worker",
            .remote = "elsewhere",
            .ssh_options = {"-S", "/socket"},
            .launcher = {"env", "QUEUE=it's mine"},
            .arguments = {"--not-for-it"},
            .cublaslt = "/not/for/it",
            .environment = {"LD_LIBRARY_PATH=/of/bundle"}};
  }

  std::string folder_;
};

TEST_F(LoginCommandTest, StreamsWordsAndLibraryPathsAreThoseOfTheAgent) {
  const std::vector<std::string> words = {"two  words", "",      "it's \"q\"",
                                          "$HOME \\ *", "[a,b]", "--"};
  const auto argv = login_argv(worker(), kAttachAgent, words, "BEFORE");
  ASSERT_TRUE(argv.ok()) << argv.error().message;
  EXPECT_THAT(argv.value(), Contains("/socket"));
  EXPECT_EQ(argv.value()[argv.value().size() - 2], "elsewhere");
  EXPECT_EQ(argv.value().back().find_first_of("!\n"), std::string::npos) << "csh takes neither";
  int shells = 0;
  for (const std::string shell : {"/bin/sh", "/bin/bash", "/bin/dash", "/usr/bin/zsh",
                                  "/usr/bin/fish", "/bin/ksh", "/bin/tcsh"}) {
    if (::access(shell.c_str(), X_OK) != 0) continue;
    SCOPED_TRACE(shell);
    ++shells;
    const ChildEnd end = run(shell, argv.value().back());
    EXPECT_THAT(end.output, HasSubstr("[/of/bundle]"));
    EXPECT_THAT(end.output, testing::EndsWith("[two  words][][it's \"q\"][$HOME \\ *][[a,b]][--]"
                                              "of the agent"));
    EXPECT_THAT(end.errors, HasSubstr("error\n"));
    // The others read files of their own.
    if (shell != "/bin/sh" && shell != "/bin/bash" && shell != "/bin/dash") continue;
    EXPECT_THAT(end.output, testing::StartsWith("[read][/of/bundle][/of/profile]"));
    EXPECT_THAT(end.errors, HasSubstr("welcome\n"));
  }
  EXPECT_GT(shells, 0);
}

TEST_F(LoginCommandTest, WhatNoCommandCanHoldIsRefused) {
  EXPECT_FALSE(login_argv(worker(), kAttachAgent, {std::string("a\0b", 3)}, "BEFORE").ok());
  WorkerCommand here = worker();
  here.remote.reset();
  EXPECT_FALSE(login_argv(here, kAttachAgent, {}, "BEFORE").ok());
}

}  // namespace
}  // namespace app
