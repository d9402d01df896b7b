// A program that an agent has started, as from another machine: the agent is a child of this test,
// without an ssh between. The program is a shell script that makes spools as the library would.
#include "app/attach/remote_program.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "app/attach/agent_words.h"
#include "app/attach/spool_folder.h"
#include "engine/model/unique_fd.h"
#include "tests/support/observed_spool.h"

namespace app {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::SizeIs;

class RemoteProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/remote-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::filesystem::create_directory(folder_ + "/here");
    output_.reset(open_file("output"));
    errors_.reset(open_file("errors"));
  }
  void TearDown() override {
    program_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  int open_file(const std::string& name) const {
    return ::open((folder_ + '/' + name).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
  std::string text(const std::string& name) const {
    std::ifstream in(folder_ + '/' + name);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  /// Why it was not started; empty = it was. `front`: words before the agent's.
  std::string start(std::vector<std::string> command, bool goes_on = false,
                    std::vector<std::string> front = {}) {
    AgentOrder order{.program = {.command = std::move(command),
                                 .only = {},
                                 .rank = {},
                                 .folder = {},
                                 .library = MARKER_LIBRARY},
                     .goes_on = goes_on};
    std::vector<std::string> argv = {"/usr/bin/env", "XDG_CACHE_HOME=" + folder_};
    argv.insert(argv.end(), front.begin(), front.end());
    argv.emplace_back(ATTACH_AGENT);
    for (std::string& word : agent_words(order)) argv.push_back(std::move(word));
    auto started = RemoteProgram::start({.host = "elsewhere",
                                         .argv = std::move(argv),
                                         .folder = folder_ + "/here",
                                         .goes_on = goes_on,
                                         .output_descriptor = output_.get(),
                                         .errors_descriptor = errors_.get(),
                                         .why_lost = {},
                                         .stop = {}});
    if (!started.ok()) return started.error().message;
    program_ = std::move(started).value();
    return {};
  }
  template <class Condition>
  static bool until(Condition condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < limit) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  std::string end() {
    until([&] { return program_->ended().has_value(); });
    return program_->ended().value_or("did not end");
  }
  /// Folders of spools that are left where the program ran.
  std::size_t folders_there() const {
    std::error_code error;
    const std::filesystem::directory_iterator all(folder_ + "/expertscope/attach", error);
    return static_cast<std::size_t>(std::distance(begin(all), std::filesystem::end(all)));
  }

  std::string folder_;
  engine::UniqueFd output_;
  engine::UniqueFd errors_;
  std::unique_ptr<RemoteProgram> program_;
};

TEST_F(RemoteProgramTest, WhatItPrintsAndRecordsArrives) {
  profiling::observed_spool(3).write(folder_ + "/made");
  ASSERT_EQ(
      start({"sh", "-c",
             "cp " + folder_ + "/made \"$EXPERTSCOPE_ATTACH_FOLDER\"/1.spool; cp " + folder_ +
                 "/made \"$EXPERTSCOPE_ATTACH_FOLDER\"/2.spool; stat -c %a "
                 "\"$EXPERTSCOPE_ATTACH_FOLDER\"; printf '[%s]' \"$@\"; echo oops >&2; exit 7",
             "sh", "two  words", "", "it's \"quoted\"", "[a,b]", "$HOME \\ *\n"}),
      "");
  EXPECT_GT(program_->pid(), 0);
  EXPECT_EQ(end(), "ended with exit code 7");
  EXPECT_FALSE(program_->lost());
  EXPECT_EQ(text("output"), "700\n[two  words][][it's \"quoted\"][[a,b]][$HOME \\ *\n]");
  EXPECT_EQ(text("errors"), "oops\n");
  EXPECT_EQ(text("here/1.spool"), text("made"));
  SpoolFolder spools(folder_ + "/here", program_->machine());
  ASSERT_TRUE(spools.follow(true).ok());
  EXPECT_THAT(spools.reports({}), SizeIs(2));
  EXPECT_TRUE(until([&] { return folders_there() == 0; })) << "all of it is here";
}

TEST_F(RemoteProgramTest, RecordsArriveWhileItRuns) {
  profiling::observed_spool(0).write(folder_ + "/made");
  ASSERT_EQ(start({"sh", "-c",
                   "cp " + folder_ +
                       "/made \"$EXPERTSCOPE_ATTACH_FOLDER\"/1.spool; echo ready; "
                       "sleep 60"}),
            "");
  EXPECT_TRUE(until([&] { return text("here/1.spool") == text("made"); }));
  EXPECT_TRUE(until([&] { return text("output") == "ready\n"; }));
  EXPECT_GT(program_->machine().now(), 0U);
  EXPECT_NE(program_->machine().device("0000:01:00.0"), "") << "it was asked there";
  EXPECT_FALSE(program_->ended());
  program_->interrupt();
  EXPECT_EQ(end(), "was killed by signal 2 (Interrupt)");
}

TEST_F(RemoteProgramTest, ItIsEndedAndKilledWithItsChildren) {
  ASSERT_EQ(start({"sh", "-c", "trap 'echo asked' TERM; echo ready; while :; do sleep 0.02; done"}),
            "");
  ASSERT_TRUE(until([&] { return text("output") == "ready\n"; }));
  program_->end(false);
  EXPECT_TRUE(until([&] { return text("output") == "ready\nasked\n"; }));
  EXPECT_FALSE(program_->ended());
  program_->end(true);
  EXPECT_EQ(end(), "was killed by signal 9 (Killed)");
}

TEST_F(RemoteProgramTest, WhatCannotBeStartedIsSaid) {
  EXPECT_THAT(start({"no-such-program"}),
              HasSubstr("on elsewhere: 'no-such-program' cannot be started"));
  EXPECT_EQ(folders_there(), 0U);
  EXPECT_THAT(start({"true"}, false, {"sh", "-c", "echo 'no queue takes it' >&2; exit 3"}),
              AllOf(HasSubstr("exited with code 3"), EndsWith("; it printed: no queue takes it")));
  EXPECT_THAT(start({"true"}, false, {"echo", "Welcome"}), HasSubstr("makes no sense"));
}

TEST_F(RemoteProgramTest, WhatHasArrivedOfALostProgramIsKept) {
  profiling::observed_spool(0).write(folder_ + "/made");
  ASSERT_EQ(
      start(
          {"sh", "-c", "cp " + folder_ + "/made \"$EXPERTSCOPE_ATTACH_FOLDER\"/1.spool; sleep 60"},
          false, {"sh", "-c", "echo $$ >\"$0\"; exec 8<&0; \"$@\" <&8 & wait", folder_ + "/way"}),
      "");
  ASSERT_TRUE(until([&] { return text("here/1.spool") == text("made"); }));
  ::kill(std::stoi(text("way")), SIGKILL);
  EXPECT_THAT(end(), AllOf(HasSubstr("the connection to elsewhere was lost"),
                           HasSubstr("it was hung up there, and its whole record is there in " +
                                     folder_ + "/expertscope/attach/")));
  EXPECT_TRUE(program_->lost());
  EXPECT_EQ(text("here/1.spool"), text("made"));
}

}  // namespace
}  // namespace app
