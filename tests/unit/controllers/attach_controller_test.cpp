// Attaching from the window: a shell script is the program, and a spool made by hand is what the
// preloaded library would have written.
#include "app/controllers/attach_controller.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/observed_spool.h"

namespace app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using State = AttachStatus::State;

class AttachControllerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/attach-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    // Any library can be preloaded; this one does nothing.
    attach_ = std::make_unique<AttachController>([] {}, std::string(MARKER_LIBRARY));
  }
  void TearDown() override {
    attach_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string spool(const std::string& name, int late_launches) {
    const std::string path = folder_ + "/" + name;
    profiling::observed_spool(late_launches).write(path);
    return path;
  }
  std::string script(const std::string& text) {
    const std::string path = folder_ + "/program.sh";
    std::ofstream(path) << text;
    return "sh " + path;
  }
  template <class Condition>
  bool tick_until(Condition condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < limit) {
      attach_->tick();
      for (AttachedVisit& one : attach_->take_visits()) visits_.push_back(std::move(one));
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  bool reaches(State state) {
    return tick_until([&] { return attach_->status().state == state; });
  }

  std::string folder_;
  std::unique_ptr<AttachController> attach_;
  std::vector<AttachedVisit> visits_;
};

TEST_F(AttachControllerTest, FindingsComeWhileTheProgramRuns) {
  const std::string first = spool("first", 0);
  const std::string second = spool("second", 3);
  const std::string go = folder_ + "/go";
  // The library adds frames to a file that is complete at any time; so does this.
  const std::string program = script("cd \"$EXPERTSCOPE_ATTACH_FOLDER\"\ncp " + first +
                                     " new; mv new 1234.spool\necho step 1\nwhile [ ! -e " + go +
                                     " ]; do sleep 0.02; done\ndd bs=1M conv=notrunc if=" + second +
                                     " of=1234.spool\nsleep 60\n");
  ASSERT_TRUE(attach_->start({.command = program}).ok());
  ASSERT_TRUE(tick_until([&] { return !visits_.empty(); })) << attach_->status().error;
  EXPECT_FALSE(visits_[0].last);
  EXPECT_THAT(visits_[0].visit.report.findings, IsEmpty());
  const AttachStatus& now = attach_->status();
  EXPECT_EQ(now.state, State::Running);
  EXPECT_GT(now.pid, 0);
  ASSERT_THAT(now.processes, SizeIs(1));
  EXPECT_EQ(now.processes[0].seen.graphs, 1U);
  EXPECT_TRUE(tick_until([&] { return !attach_->status().output.empty(); }));
  EXPECT_EQ(now.output.back(), "step 1");

  std::ofstream{go};
  ASSERT_TRUE(tick_until([&] { return !attach_->status().findings.empty(); }));
  EXPECT_EQ(attach_->status().state, State::Running);
  EXPECT_THAT(attach_->status().findings, ElementsAre(HasSubstr("(process 1234)")));
  ASSERT_THAT(visits_, SizeIs(2));
  EXPECT_EQ(visits_[0].spool, visits_[1].spool);
  EXPECT_EQ(visits_[1].visit.report.findings.at(0).rule, "freed-memory");

  attach_->end_program();
  ASSERT_TRUE(reaches(State::Ended));
  EXPECT_EQ(attach_->status().end, "was killed by signal 15 (Terminated)");
  EXPECT_TRUE(visits_.back().last);
  EXPECT_THAT(attach_->status().findings, SizeIs(1));
}

TEST_F(AttachControllerTest, TheProgramOutlivesTheWatchingAndTheWindow) {
  ASSERT_TRUE(attach_->start({.command = "sleep 60"}).ok());
  ASSERT_TRUE(tick_until([&] { return attach_->status().pid > 0; })) << attach_->status().error;
  const pid_t pid = attach_->status().pid;
  attach_->stop_watching();
  ASSERT_TRUE(reaches(State::Unwatched));
  attach_.reset();
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), 0) << "it runs";
  ::kill(pid, SIGKILL);
}

TEST_F(AttachControllerTest, OnlyAProgramThatIsWatchedForbidsAnother) {
  ASSERT_TRUE(attach_->start({.command = "sleep 60"}).ok());
  ASSERT_TRUE(tick_until([&] { return attach_->status().pid > 0; }));
  const pid_t first = attach_->status().pid;
  const engine::Status second = attach_->start({.command = "sleep 61"});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().message, "sleep 60 is being watched: stop watching it first");
  attach_->stop_watching();
  ASSERT_TRUE(reaches(State::Unwatched));
  ASSERT_TRUE(attach_->start({.command = "true"}).ok());
  ASSERT_TRUE(reaches(State::Ended));
  EXPECT_EQ(attach_->status().end, "ended with exit code 0");
  ::kill(first, SIGKILL);
}

TEST_F(AttachControllerTest, ARecordIsReadWithoutAProgramAndWithoutALibrary) {
  std::filesystem::create_directory(folder_ + "/record");
  profiling::observed_spool(3).write(folder_ + "/record/1234.spool");
  AttachController reader([] {}, engine::Error{engine::ErrorCode::NotFound, "There is none"});
  EXPECT_EQ(reader.missing_library(), "There is none");
  EXPECT_EQ(reader.start({.command = "true"}).error().message, "There is none");
  ASSERT_TRUE(reader.read(folder_ + "/record").ok());
  while (reader.watching()) {
    reader.tick();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(reader.status().state, State::Read) << reader.status().error;
  const std::vector<AttachedVisit> visits = reader.take_visits();
  ASSERT_THAT(visits, SizeIs(1));
  EXPECT_TRUE(visits[0].last);
  EXPECT_EQ(visits[0].visit.report.findings.at(0).rule, "freed-memory");
}

TEST_F(AttachControllerTest, WhatCannotBeStartedOrReadIsRefusedWithASentence) {
  EXPECT_THAT(attach_->start({.command = "python 'a"}).error().message, HasSubstr("not closed"));
  EXPECT_THAT(attach_->read(folder_ + "/gone").error().message, HasSubstr("is not a folder"));
  EXPECT_EQ(attach_->status().state, State::None);
  ASSERT_TRUE(attach_->read(folder_).ok());
  ASSERT_TRUE(tick_until([&] { return !attach_->status().error.empty(); }));
  EXPECT_THAT(attach_->status().error, HasSubstr("holds no record of an attached program"));
  ASSERT_TRUE(attach_->start({.command = "true", .working_folder = folder_ + "/gone"}).ok());
  ASSERT_TRUE(tick_until([&] { return !attach_->status().error.empty(); }));
  EXPECT_THAT(attach_->status().error, HasSubstr("gone does not exist"));
  ASSERT_TRUE(attach_->start({.command = "no-such-program-here"}).ok());
  ASSERT_TRUE(tick_until([&] { return !attach_->status().error.empty(); }));
  EXPECT_THAT(attach_->status().error, HasSubstr("'no-such-program-here' cannot be started"));
}

}  // namespace
}  // namespace app
