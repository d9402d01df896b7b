// The window's supervisor of workers: a restart with another library executes nothing in its name,
// on this machine and on another, and replacing a worker never waits.
#include "app/controllers/link_supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
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

TEST(LinkSupervisor, NoWorkerIsStartedAgainOverALostConnection) {
  const testing::FakeSsh ssh;
  // With -M the shared connection, which is there until "cut" exists; without, a worker.
  ssh.write_program("ssh",
                    "socket=\nshared=\n"
                    "while [ \"$1\" != -- ]; do case $1 in -S) socket=$2;; -M) shared=yes;; esac; "
                    "shift; done\n"
                    "if [ \"$shared\" ]; then touch \"$socket\"\n"
                    "while [ ! -e \"$FAKE_SSH/cut\" ]; do sleep 0.05; done\n"
                    "echo 'Connection to gpu1 closed by remote host.' >&2; exit 255; fi\n"
                    "echo started >> \"$FAKE_SSH/starts\"\n"
                    "while [ ! -e \"$FAKE_SSH/cut\" ]; do sleep 0.05; done; exit 255\n");
  auto connection = SshConnection::open("gpu1", {}, {});
  ASSERT_TRUE(connection.ok()) << connection.error().message;
  PlacedWorker place{.command = {.program = {}, .remote = "gpu1"},
                     .connection = std::move(connection).value()};
  place.command.ssh_options = place.connection->options();
  LinkSupervisor supervisor({.program = FAKE_WORKER}, [] {});
  supervisor.automatic = true;
  supervisor.move_to(place);
  supervisor.start("");
  EXPECT_EQ(supervisor.host(), "gpu1");
  ASSERT_TRUE(wait_until([&] { return !ssh.text("starts").empty(); }));
  EXPECT_EQ(supervisor.connection_lost(), "");
  std::ofstream(ssh.file("cut")) << "now";
  ASSERT_TRUE(wait_until([&] { return !supervisor.connection_lost().empty(); }));
  const Clock::time_point limit = Clock::now() + 2s;
  while (Clock::now() < limit) {
    supervisor.poll();
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_EQ(ssh.text("starts"), "started\n");
  EXPECT_TRUE(supervisor.automatic) << "it was not lost too often";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(supervisor.connection_lost(), "Connection to gpu1 closed by remote host");
  }
  // The worker of this machine can be started all the same.
  supervisor.move_to({.command = {.program = FAKE_WORKER}});
  supervisor.start("");
  EXPECT_TRUE(wait_until([&] {
    supervisor.poll();
    return supervisor.hello().has_value();
  }));
  EXPECT_EQ(supervisor.connection_lost(), "");
}

}  // namespace
}  // namespace app
