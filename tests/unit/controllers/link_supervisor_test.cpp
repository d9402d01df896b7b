// The window's supervisor of workers: a restart with another library executes nothing in its name,
// on this machine and on another, and replacing a worker never waits.
#include "app/controllers/link_supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/support/fake_ssh.h"

namespace app {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

template <class Condition>
bool wait_until(Condition condition) {
  const Clock::time_point limit = Clock::now() + 20s;
  while (!condition() && Clock::now() < limit) std::this_thread::sleep_for(5ms);
  return condition();
}

TEST(LinkSupervisor, ARemoteRestartWithAnotherLibraryRunsNothingInTheRemoteShell) {
  const testing::FakeSsh ssh;
  ssh.write_program("expertscope-worker",
                    "printf '%s\\n' \"$@\" > words.tmp; mv words.tmp words\n");
  const std::string nasty = "/lib/x'; touch owned; $(touch owned) `touch owned` '";
  LinkSupervisor supervisor({.program = {}, .remote = "user@host", .backend = "cpu"}, [] {});
  supervisor.start(nasty);
  ASSERT_TRUE(wait_until([&] { return !ssh.text("words").empty(); }));
  EXPECT_EQ(ssh.text("words"), "--cublaslt\n" + nasty + "\n--backend\ncpu\n");
  EXPECT_FALSE(ssh.owned());
}

TEST(LinkSupervisor, ReplacingDoesNotWaitForAWorkerThatResistsItsEnd) {
  // It stops its guard again and again, so that taking it down takes at least a second.
  LinkSupervisor supervisor({.program = FAKE_WORKER, .arguments = {"stops-guard"}}, [] {});
  supervisor.start("");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(wait_until([&] {
      supervisor.poll();
      return supervisor.hello().has_value();
    }));
    std::this_thread::sleep_for(200ms);  // it starts after its greeting
    const int before = supervisor.status().pid;
    const Clock::time_point begun = Clock::now();
    supervisor.start("");
    EXPECT_LT(Clock::now() - begun, 900ms);
    ASSERT_TRUE(wait_until([&] { return supervisor.status().pid != 0; }));
    EXPECT_NE(supervisor.status().pid, before);
  }
}

TEST(LinkSupervisor, IdsRiseOverWorkers) {
  // Or a tour would take the result of an earlier worker for its own.
  LinkSupervisor supervisor({.program = FAKE_WORKER}, [] {});
  std::uint64_t last = 0;
  for (int worker = 0; worker < 3; ++worker) {
    supervisor.start("");
    for (const std::uint64_t id :
         {supervisor.submit(engine::RunRequest()), supervisor.submit(engine::ComparisonRequest()),
          supervisor.submit(QuantizeOrder())}) {
      EXPECT_GT(id, last);
      last = id;
    }
  }
}

TEST(LinkSupervisor, AnInvalidWorkerNameIsReported) {
  LinkSupervisor supervisor({.program = {}, .remote = "a b"}, [] {});
  supervisor.start("");
  EXPECT_FALSE(supervisor.started());
  EXPECT_THAT(supervisor.status().reason, ::testing::HasSubstr("'a b' is not a machine name"));
}

}  // namespace
}  // namespace app
