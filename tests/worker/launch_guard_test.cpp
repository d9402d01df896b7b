// A launch call that does not return: detected from another thread once its deadline has passed,
// reported with what the stuck thread does, and answered by a worker that ends although it is
// stuck.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <optional>
#include <thread>

#include "app/protocol/convert.h"
#include "app/protocol/framing.h"
#include "app/worker/end_worker.h"
#include "app/worker/replay_guard.h"
#include "profiling/trace/host_thread.h"
#include "tests/support/patience.h"

namespace app {
namespace {

using namespace std::chrono_literals;
using profiling::BlockedLaunch;
using ::testing::HasSubstr;

constexpr double kLaunchDeadline = 0.2;

engine::Launching launch_of(int number, double deadline = kLaunchDeadline) {
  return {.graph = true, .number = number, .deadline_seconds = deadline, .p99_seconds = 1e-5};
}

TEST(LaunchClock, ReportsALaunchPastItsDeadlineOnce) {
  profiling::LaunchClock clock;
  int reports = 0;
  const auto count = [&](const BlockedLaunch& blocked) {
    ++reports;
    EXPECT_EQ(blocked.launch.number, 7);
    EXPECT_GT(blocked.waited_seconds, 0.02);
    EXPECT_EQ(blocked.thread, ::gettid());
  };
  clock.report_if_late(count);  // nothing was launched
  clock.begins(launch_of(7, 0.02));
  clock.report_if_late(count);
  EXPECT_EQ(reports, 0);
  std::this_thread::sleep_for(30ms);
  clock.report_if_late(count);
  clock.report_if_late(count);
  EXPECT_EQ(reports, 1);
  clock.ends();
  clock.begins(launch_of(7, 0.02));  // the next one starts a new count
  std::this_thread::sleep_for(30ms);
  clock.report_if_late(count);
  EXPECT_EQ(reports, 2);
}

TEST(LaunchClock, LaunchesThatReturnAndThoseWithoutADeadlineAreNeverLate) {
  profiling::LaunchClock clock;
  const auto never = [](const BlockedLaunch&) {
    ADD_FAILURE() << "reported a launch that is in time";
  };
  clock.begins(launch_of(1, 0.01));
  clock.ends();
  std::this_thread::sleep_for(20ms);
  clock.report_if_late(never);
  clock.begins(launch_of(2, std::numeric_limits<double>::infinity()));
  std::this_thread::sleep_for(20ms);
  clock.report_if_late(never);
}

TEST(LaunchGuard, SeesAStuckThreadWithinASecondOfTheDeadlineAndWhatItDoes) {
  LaunchGuard guard;
  std::promise<std::pair<BlockedLaunch, std::string>> seen;
  guard.watch([&](const BlockedLaunch& blocked) {
    seen.set_value({blocked, profiling::host_thread_text(blocked.thread)});
  });
  std::promise<void> release;
  std::thread stuck([&] {
    guard.clock().begins(launch_of(41));
    release.get_future().wait();  // as in a driver that waits for a device
    guard.clock().ends();
  });
  auto answer = seen.get_future();
  const bool in_time = answer.wait_for(1200ms * tests::patience()) == std::future_status::ready;
  release.set_value();
  stuck.join();
  ASSERT_TRUE(in_time);
  const auto [blocked, text] = answer.get();
  EXPECT_EQ(blocked.launch.number, 41);
  EXPECT_GE(blocked.waited_seconds, kLaunchDeadline);
  EXPECT_THAT(text, HasSubstr("sleeps in the kernel"));
}

TEST(HostThread, AThreadThatRunsAndOneThatIsGone) {
  std::atomic<pid_t> thread{0};
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    thread = ::gettid();
    while (!stop) {
    }
  });
  while (thread == 0) std::this_thread::yield();
  const std::string running = profiling::host_thread_text(thread);
  stop = true;
  busy.join();
  EXPECT_THAT(running, HasSubstr("runs on a core"));
  EXPECT_THAT(profiling::host_thread_text(thread), HasSubstr("unknown"));
}

/// The process of a worker whose engine thread is stuck forever inside a launch.
[[noreturn]] void stuck_worker(int descriptor) {
  FrameSender sender{UniqueFd(descriptor)};
  LaunchGuard guard;
  guard.watch([&](const BlockedLaunch& blocked) {
    profiling::StalledRun run;
    run.stall.replay = blocked.launch.number;
    run.stall.waited_seconds = blocked.waited_seconds;
    run.stall.deadline_seconds = blocked.launch.deadline_seconds;
    run.stall.kind = profiling::StallKind::HostBlocked;
    run.stall.evidence = profiling::host_thread_text(blocked.thread);
    answer_and_end(sender, {.id = 9, .began = std::chrono::steady_clock::now()}, std::move(run));
  });
  guard.clock().begins(launch_of(41));
  while (true) ::pause();
}

TEST(StallAnswer, AWorkerStuckInALaunchAnswersAndEnds) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EXIT(stuck_worker(::dup(ends[1])), ::testing::ExitedWithCode(0), "");
  ::close(ends[1]);
  const UniqueFd reading(ends[0]);
  FrameDecoder decoder;
  const auto frame = read_frame(reading.get(), decoder);
  ASSERT_TRUE(frame.ok()) << frame.error().message;
  ASSERT_TRUE(frame.value() && frame.value()->has_answer());
  EXPECT_EQ(frame.value()->answer().id(), 9U);
  const auto answer = from_wire(frame.value()->answer());
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  const auto* late = std::get_if<RunError>(&answer.value());
  ASSERT_NE(late, nullptr);
  EXPECT_THAT(late->error.message, HasSubstr("the launch of replay 41 had not returned"));
  ASSERT_TRUE(late->stalled != nullptr);
  const profiling::Outcome& outcome = late->stalled->outcome;
  EXPECT_EQ(outcome.verdict, profiling::Verdict::Hung);
  ASSERT_EQ(outcome.stall.size(), 1U);
  EXPECT_EQ(outcome.stall[0].kind, profiling::StallKind::HostBlocked);
  EXPECT_THAT(outcome.stall[0].evidence, HasSubstr("sleeps in the kernel"));
}

}  // namespace
}  // namespace app
