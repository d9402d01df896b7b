// Experiments in workers that hang, die, refuse or stay silent: each ends in time with the right
// outcome, and no process is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "app/doctor/worker_runner.h"
#include "app/protocol/worker_link.h"
#include "tests/support/fake_ssh.h"

namespace app {
namespace {

using profiling::Experiment;
using profiling::NodeState;
using profiling::StallKind;
using profiling::Verdict;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr double kDeadline = 0.3;
constexpr double kGrace = 0.2;

WorkerRunner runner_of(const std::string& mode) {
  return WorkerRunner({.worker = {.program = FAKE_WORKER, .arguments = {mode}},
                       .start_seconds = 5,
                       .setup_seconds = 0.4,
                       .grace_seconds = kGrace});
}

struct Made {
  engine::Result<ExperimentRunner::Reply> reply = engine::Error{};
  double seconds = 0;
  std::vector<NodeState> board;
  int replay = 0;
};

Made made_by(WorkerRunner runner, Experiment experiment = {},
             const std::atomic<bool>* cancel = nullptr) {
  static const std::atomic<bool> kNever = false;
  experiment.deadline_seconds = kDeadline;
  Made made;
  const Clock::time_point start = Clock::now();
  made.reply = runner.run(
      {.request = {}, .gallery_case = "a case", .healthy = false}, experiment,
      [&](int replay, const std::vector<NodeState>& board) {
        made.replay = replay;
        made.board = board;
      },
      cancel == nullptr ? kNever : *cancel);
  made.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return made;
}

/// This process has no child left, running or not reaped.
bool no_child_is_left() { return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

TEST(WorkerRunner, PassesOnWhatTheWorkerAnswers) {
  const Made made = made_by(runner_of("well-behaved"));
  ASSERT_TRUE(made.reply.ok()) << made.reply.error().message;
  EXPECT_EQ(made.reply.value().outcome.verdict, Verdict::Right);
  EXPECT_EQ(made.reply.value().snapshot.subject, "a case");
  EXPECT_GT(made.reply.value().outcome.seconds, 0.0);
  EXPECT_TRUE(no_child_is_left());
}

TEST(WorkerRunner, LoadsKernelsAtTheStartIfAsked) {
  Experiment experiment;
  EXPECT_EQ(made_by(runner_of("well-behaved"), experiment).reply.value().snapshot.device, "");
  experiment.eager_loading = true;
  EXPECT_EQ(made_by(runner_of("well-behaved"), experiment).reply.value().snapshot.device, "EAGER");
}

TEST(WorkerRunner, LoadsKernelsAtTheStartOnAnotherMachineToo) {
  const testing::FakeSsh ssh;
  Experiment experiment;
  experiment.eager_loading = true;
  const Made made =
      made_by(WorkerRunner({.worker = {.program = FAKE_WORKER, .remote = "host"}}), experiment);
  ASSERT_TRUE(made.reply.ok()) << made.reply.error().message;
  EXPECT_EQ(made.reply.value().snapshot.device, "EAGER");
}

TEST(WorkerRunner, AHangInAReplayIsFoundByItsDeadline) {
  const Made made = made_by(runner_of("hang-in-replay"));
  ASSERT_TRUE(made.reply.ok()) << made.reply.error().message;
  const profiling::Outcome& outcome = made.reply.value().outcome;
  EXPECT_EQ(outcome.verdict, Verdict::Hung);
  ASSERT_EQ(outcome.stall.size(), 1U);
  const profiling::Stall& stall = outcome.stall[0];
  EXPECT_EQ(stall.kind, StallKind::HostBlocked);
  EXPECT_EQ(stall.replay, 2);
  EXPECT_EQ(stall.last_finished, 1);
  EXPECT_EQ(stall.nodes, (std::vector{NodeState::Done, NodeState::Done, NodeState::Running,
                                      NodeState::NotReached}));
  EXPECT_GE(stall.waited_seconds, kDeadline);
  EXPECT_EQ(made.replay, 2);
  EXPECT_EQ(made.board, stall.nodes);
  EXPECT_THAT(stall.evidence, HasSubstr("busy 0 % of the time"));
  EXPECT_LT(made.seconds, kDeadline + kGrace + 2);
  EXPECT_TRUE(no_child_is_left());
}

TEST(WorkerRunner, AHangBeforeTheFirstReplayIsFoundToo) {
  const Made made = made_by(runner_of("hang-in-setup"));
  ASSERT_TRUE(made.reply.ok());
  EXPECT_EQ(made.reply.value().outcome.verdict, Verdict::Hung);
  EXPECT_EQ(made.reply.value().outcome.stall.at(0).replay, 0);
  EXPECT_TRUE(no_child_is_left());
}

TEST(WorkerRunner, AWorkerThatStopsPulsingIsUnknown) {
  WorkerRunner runner({.worker = {.program = FAKE_WORKER, .arguments = {"silent-in-replay"}},
                       .setup_seconds = 0.4,
                       .grace_seconds = 1});
  const Made made = made_by(std::move(runner));
  ASSERT_TRUE(made.reply.ok());
  EXPECT_EQ(made.reply.value().outcome.verdict, Verdict::Hung);
  EXPECT_EQ(made.reply.value().outcome.stall.at(0).kind, StallKind::Unknown);
  EXPECT_EQ(made.reply.value().outcome.stall.at(0).replay, 2);
  EXPECT_TRUE(no_child_is_left());
}

TEST(WorkerRunner, AWorkerThatDiesHasCrashed) {
  const Made made = made_by(runner_of("die-in-replay"));
  ASSERT_TRUE(made.reply.ok());
  EXPECT_EQ(made.reply.value().outcome.verdict, Verdict::Crashed);
  EXPECT_THAT(made.reply.value().outcome.message, HasSubstr("killed by signal 11"));
  EXPECT_THAT(made.reply.value().outcome.message, HasSubstr("an illegal memory access"));
  EXPECT_TRUE(no_child_is_left());
}

TEST(WorkerRunner, RefusalsAreErrorsAndDeviceErrorsAreOutcomes) {
  const Made refused = made_by(runner_of("refuse-order"));
  ASSERT_FALSE(refused.reply.ok());
  EXPECT_EQ(refused.reply.error().code, engine::ErrorCode::Unsupported);
  EXPECT_EQ(refused.reply.error().message, "there is no GPU here");
  const Made device = made_by(runner_of("device-error"));
  ASSERT_TRUE(device.reply.ok());
  EXPECT_EQ(device.reply.value().outcome.verdict, Verdict::Crashed);
  EXPECT_TRUE(no_child_is_left());
}

TEST(WorkerRunner, AWorkerThatDoesNotStartIsAnError) {
  for (const std::string mode : {"exit-at-start", "wrong-version", "hello-then-garbage"}) {
    const Made made = made_by(runner_of(mode));
    // Garbage right after the greeting may be seen after the order has been sent.
    if (made.reply.ok()) {
      EXPECT_EQ(made.reply.value().outcome.verdict, Verdict::Crashed) << mode;
    } else {
      EXPECT_THAT(made.reply.error().message, HasSubstr("the worker is lost")) << mode;
    }
  }
  WorkerRunner mute(
      {.worker = {.program = FAKE_WORKER, .arguments = {"mute"}}, .start_seconds = 0.3});
  const Made made = made_by(std::move(mute));
  ASSERT_FALSE(made.reply.ok());
  EXPECT_THAT(made.reply.error().message, HasSubstr("did not greet"));
  const Made absent = made_by(WorkerRunner({.worker = {.program = "/no/such/program"}}));
  EXPECT_FALSE(absent.reply.ok());
  EXPECT_TRUE(no_child_is_left());
}

TEST(WorkerRunner, ACancelEndsAHang) {
  std::atomic<bool> cancel = false;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    cancel = true;
  });
  WorkerRunner runner({.worker = {.program = FAKE_WORKER, .arguments = {"hang-in-setup"}}});
  const Made made = made_by(std::move(runner), {}, &cancel);
  later.join();
  ASSERT_FALSE(made.reply.ok());
  EXPECT_EQ(made.reply.error().code, engine::ErrorCode::Cancelled);
  EXPECT_LT(made.seconds, 2.0);
  EXPECT_TRUE(no_child_is_left());
}

TEST(WorkerRunner, ManyHangsLeaveNothingBehind) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(made_by(runner_of("hang-in-replay")).reply.value().outcome.verdict, Verdict::Hung);
    EXPECT_TRUE(no_child_is_left());
  }
}

}  // namespace
}  // namespace app
