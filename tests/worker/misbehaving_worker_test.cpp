// The window's side against workers that break every promise: each is detected within a second, and
// none can make the caller wait.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "app/protocol/event_queue.h"
#include "app/protocol/framing.h"
#include "app/protocol/protocol_version.h"
#include "tests/worker/link_harness.h"

namespace app {
namespace {

using ::testing::HasSubstr;
using testing::LinkHarness;
using testing::seconds_of;
using ::testing::StartsWith;
using namespace std::chrono_literals;

// The limits themselves are tested with a synthetic clock (liveness_test); here a loaded machine
// must not fail what works.
constexpr auto kSoon = 3s;

std::string reason_when_lost(const char* mode) {
  LinkHarness link({FAKE_WORKER, mode});
  return link.wait_for_state(LinkState::Lost) ? link->status().reason : "not lost";
}

TEST(MisbehavingWorker, AWellBehavedOneAnswers) {
  LinkHarness link({FAKE_WORKER});
  const std::uint64_t id = link->submit({});
  ASSERT_TRUE(link.wait_for_answer(id));
  EXPECT_NE(link.find<RunDone>(id), nullptr);
  ASSERT_NE(link.find_any<WorkerHello>(), nullptr);
  EXPECT_EQ(link.find_any<WorkerHello>()->backends.size(), 1U);
  EXPECT_TRUE(link.wait_for_state(LinkState::Responsive));
  EXPECT_GT(link->status().pid, 0);
}

TEST(MisbehavingWorker, AMissingProgramIsLostAtOnce) {
  LinkHarness link({"/nowhere/expertscope-worker"});
  ASSERT_TRUE(link.wait_for_state(LinkState::Lost, kSoon));
  EXPECT_THAT(link->status().reason,
              AllOf(HasSubstr("/nowhere/expertscope-worker"), HasSubstr("No such file")));
  EXPECT_GT(link->submit({}), 0U);  // harmless, like every call on a lost link
  link->cancel();
  link->kill();
}

TEST(MisbehavingWorker, AnEmptyCommandIsLostAtOnce) {
  LinkHarness link({std::vector<std::string>()});
  EXPECT_EQ(link->status().state, LinkState::Lost);
}

TEST(MisbehavingWorker, ExitAtStartIsNamedWithItsLastWords) {
  LinkHarness link({FAKE_WORKER, "exit-at-start"});
  ASSERT_TRUE(link.wait_for_state(LinkState::Lost, kSoon));
  EXPECT_EQ(link->status().reason, "exited with code 3");
  ASSERT_TRUE(link.wait([&] { return link.find_any<LogReport>() != nullptr; }));
  EXPECT_THAT(link.find_any<LogReport>()->text, HasSubstr("libcuda"));
}

TEST(MisbehavingWorker, GarbageIsQuoted) {
  EXPECT_THAT(reason_when_lost("hello-then-garbage"),
              AllOf(StartsWith("sent a malformed frame: "), HasSubstr("\"Segm\"")));
}

TEST(MisbehavingWorker, AHugeFrameNamesTheLimit) {
  EXPECT_THAT(
      reason_when_lost("huge-frame"),
      AllOf(HasSubstr("4294967295"), HasSubstr("limit while nothing was ordered is 4194304")));
}

TEST(MisbehavingWorker, AnUnknownBodyIsRefused) {
  EXPECT_THAT(reason_when_lost("unknown-body"), HasSubstr("no body known to this version"));
}

TEST(MisbehavingWorker, ACommandFromAWorkerIsRefused) {
  EXPECT_THAT(reason_when_lost("wrong-direction"), HasSubstr("goes to a worker"));
}

TEST(MisbehavingWorker, AnotherVersionIsRefused) {
  EXPECT_THAT(reason_when_lost("wrong-version"),
              HasSubstr(fmt::format("protocol version {:08x}", protocol_version() + 1)));
}

TEST(MisbehavingWorker, DeathInsideAFrameIsNamed) {
  EXPECT_THAT(reason_when_lost("die-in-frame"),
              AllOf(StartsWith("exited with code 9"), HasSubstr("4 of a frame's 64 bytes")));
}

TEST(MisbehavingWorker, ClosedOutputEndsIt) {
  EXPECT_THAT(reason_when_lost("close-output"), HasSubstr("closed its output"));
}

TEST(MisbehavingWorker, NoPulseIsStalled) {
  LinkHarness link({FAKE_WORKER, "no-pulse"});
  ASSERT_TRUE(link.wait([&] { return link.find_any<WorkerHello>() != nullptr; }));
  const double seconds =
      seconds_of([&] { ASSERT_TRUE(link.wait_for_state(LinkState::Stalled, kSoon)); });
  EXPECT_GE(seconds, 0.4);
  EXPECT_THAT(link->status().reason, StartsWith("no pulse for 0."));
}

TEST(MisbehavingWorker, PulsesWithoutProgressStallOnlyWhenAsked) {
  LinkHarness strict({FAKE_WORKER, "stuck"}, 0.3);
  LinkHarness patient({FAKE_WORKER, "stuck"});
  LinkHarness moving({FAKE_WORKER, "moving"}, 0.3);
  for (LinkHarness* link : {&strict, &patient, &moving}) (*link)->submit({});
  ASSERT_TRUE(strict.wait_for_state(LinkState::Stalled));
  EXPECT_THAT(strict->status().reason, StartsWith("no progress for"));
  EXPECT_TRUE(patient.wait_for_state(LinkState::Busy));
  EXPECT_TRUE(moving.wait_for_state(LinkState::Busy));
  std::this_thread::sleep_for(500ms);
  EXPECT_EQ(patient->status().state, LinkState::Busy);
  EXPECT_EQ(moving->status().state, LinkState::Busy);
}

TEST(MisbehavingWorker, AStoppedOneStallsAndComesBack) {
  LinkHarness link({FAKE_WORKER});
  ASSERT_TRUE(link.wait_for_state(LinkState::Responsive));
  ASSERT_EQ(::kill(link->status().pid, SIGSTOP), 0);
  EXPECT_TRUE(link.wait_for_state(LinkState::Stalled, kSoon));
  ASSERT_EQ(::kill(link->status().pid, SIGCONT), 0);
  EXPECT_TRUE(link.wait_for_state(LinkState::Responsive, kSoon));
}

TEST(MisbehavingWorker, KillIsNamed) {
  LinkHarness link({FAKE_WORKER});
  ASSERT_TRUE(link.wait_for_state(LinkState::Responsive));
  link->kill();
  ASSERT_TRUE(link.wait_for_state(LinkState::Lost, kSoon));
  EXPECT_EQ(link->status().reason, "killed by signal 9");
}

TEST(MisbehavingWorker, NoneMakesTheDestructorWait) {
  for (const char* mode : {"well-behaved", "mute", "slow-answer", "no-pulse", "talk"}) {
    LinkHarness link({FAKE_WORKER, mode});
    // More than a pipe holds, for a worker that may never read it.
    engine::RunRequest request;
    request.cublaslt_library.assign(1 << 20, 'x');
    link->submit(request);
    link->inspect_file({.path = std::string(1 << 20, 'y')});
    std::this_thread::sleep_for(100ms);
    EXPECT_LT(seconds_of([&] { link.destroy(); }), 3.0) << mode;
  }
}

TEST(MisbehavingWorker, AStoppedOneDoesNotMakeTheDestructorWait) {
  LinkHarness link({FAKE_WORKER});
  ASSERT_TRUE(link.wait_for_state(LinkState::Responsive));
  const int pid = link->status().pid;
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  EXPECT_LT(seconds_of([&] { link.destroy(); }), 3.0);
  EXPECT_NE(::kill(pid, 0), 0) << "the worker must be gone and reaped";
}

TEST(MisbehavingWorker, UnreadLogLinesAreBounded) {
  LinkHarness link({FAKE_WORKER, "talk"});
  std::this_thread::sleep_for(600ms);
  EXPECT_LE(link->poll().size(), 1100U);
  EXPECT_NE(link->status().state, LinkState::Lost);
}

TEST(MisbehavingWorker, TheNewestLogLinesAreKept) {
  LinkHarness link({FAKE_WORKER, "talk"});
  std::this_thread::sleep_for(600ms);
  const std::vector<LinkEvent> events = link->poll();
  std::string last;
  for (const LinkEvent& event : events) {
    if (const auto* log = std::get_if<LogReport>(&event)) last = log->text;
  }
  EXPECT_EQ(last, "line 4999");
  EXPECT_EQ(link->status().dropped_logs, 5000U - EventQueue::kMaxLogs);
}

TEST(MisbehavingWorker, ALineWithoutAnEndIsCutAndBounded) {
  LinkHarness link({FAKE_WORKER, "endless-line"});  // 80 MB of it
  // Not wait(), which would poll.
  for (int i = 0; i < 3000 && link->status().dropped_logs < 5000; ++i) {
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_GE(link->status().dropped_logs, 5000U);
  std::size_t bytes = 0;
  for (const LinkEvent& event : link->poll()) {
    if (const auto* log = std::get_if<LogReport>(&event)) bytes += log->text.size();
  }
  EXPECT_LE(bytes, EventQueue::kMaxLogBytes);
  EXPECT_GT(bytes, EventQueue::kMaxLogBytes / 2);
  EXPECT_NE(link->status().state, LinkState::Lost);
}

TEST(MisbehavingWorker, AnAnswerWithoutAnOrderLosesTheWorker) {
  LinkHarness link({FAKE_WORKER, "unordered"});  // a million of them
  ASSERT_TRUE(link.wait_for_state(LinkState::Lost));
  EXPECT_EQ(link->status().reason,
            "sent an answer of kind failed to order 1, which it does not have");
  EXPECT_EQ(link.answers(), 0U);
}

TEST(MisbehavingWorker, UnrequestedAnswersAreRefused) {
  EXPECT_THAT(reason_when_lost("unasked-file"), HasSubstr("a file that was not asked about"));
  EXPECT_THAT(reason_when_lost("greets-twice"), HasSubstr("greeted a second time"));
  LinkHarness other({FAKE_WORKER, "wrong-kind"});
  other->submit({});
  ASSERT_TRUE(other.wait_for_state(LinkState::Lost));
  EXPECT_EQ(other->status().reason, "answered order 1 of kind run with one of kind bench_finished");
  LinkHarness twice({FAKE_WORKER, "answers-twice"});
  twice->submit({});
  ASSERT_TRUE(twice.wait_for_state(LinkState::Lost));
  EXPECT_THAT(twice->status().reason, HasSubstr("to order 1, which it does not have"));
  EXPECT_EQ(twice.answers(), 1U);
}

TEST(MisbehavingWorker, AFloodOfRowsWaitsInThePipeAndAllOfItArrives) {
  LinkHarness link({FAKE_WORKER});
  ASSERT_TRUE(link.wait_for_state(LinkState::Responsive));
  engine::BenchOrder order;
  const std::uint64_t id = link->submit(order);
  std::this_thread::sleep_for(1500ms);  // no polling meanwhile
  EXPECT_EQ(link->status().state, LinkState::Busy) << "unread events are not the worker's fault";
  int rows = 0;
  std::size_t most = 0;
  bool ordered = true;
  bool done = false;
  const testing::Clock::time_point limit = testing::Clock::now() + 60s;
  while (!done && testing::Clock::now() < limit) {
    const std::vector<LinkEvent> events = link->poll();
    most = std::max(most, events.size() * sizeof(LinkEvent));
    for (const LinkEvent& event : events) {
      if (const auto* row = std::get_if<BenchRowReport>(&event)) {
        ordered = ordered && row->row.launches == ++rows;
      }
      const auto* end = std::get_if<BenchDone>(&event);
      done = done || (end != nullptr && end->id == id);
    }
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(done);
  EXPECT_EQ(rows, 200'000);
  EXPECT_TRUE(ordered);
  EXPECT_LE(most, std::size_t{64} << 20);
  EXPECT_GT(most, std::size_t{8} << 20) << "the flood was too small to show anything";
  EXPECT_NE(link->status().state, LinkState::Lost);
}

TEST(MisbehavingWorker, ACancelThatIsNotAnsweredIsOverdue) {
  LinkHarness link({FAKE_WORKER, "stuck"});
  link->cancel();  // with nothing to cancel: nothing is overdue
  link->submit({});
  ASSERT_TRUE(link.wait_for_state(LinkState::Busy));
  std::this_thread::sleep_for(2200ms);
  EXPECT_FALSE(link->status().cancel_overdue);
  const double seconds = seconds_of([&] {
    link->cancel();
    ASSERT_TRUE(link.wait([&] { return link->status().cancel_overdue; }));
  });
  EXPECT_GE(seconds, 2.0);
  EXPECT_EQ(link->status().state, LinkState::Busy) << "it pulses";
}

TEST(MisbehavingWorker, AnAnsweredCancelIsNotOverdue) {
  LinkHarness link({FAKE_WORKER, "slow-answer"});
  const std::uint64_t id = link->submit({});
  ASSERT_TRUE(link.wait_for_state(LinkState::Busy));
  link->cancel();
  ASSERT_TRUE(link.wait_for_answer(id));
  std::this_thread::sleep_for(2100ms);
  EXPECT_FALSE(link->status().cancel_overdue);
}

bool runs(int pid) { return ::kill(pid, 0) == 0; }

std::vector<int> pids_in(const std::string& path) {
  std::ifstream file(path);
  return {std::istream_iterator<int>(file), std::istream_iterator<int>()};
}

TEST(MisbehavingWorker, DescendantsThatHideEndWithTheLink) {
  const std::string path = ::testing::TempDir() + "hidden." + std::to_string(::getpid());
  ::setenv("FAKE_WORKER_PIDS", path.c_str(), 1);
  {
    LinkHarness link({FAKE_WORKER, "breed"});
    ASSERT_TRUE(link.wait([&] { return pids_in(path).size() == 3; }));
  }
  for (const int pid : pids_in(path)) EXPECT_FALSE(runs(pid)) << pid;
  ::unlink(path.c_str());
}

TEST(MisbehavingWorker, DescendantsThatHideEndWithTheirWorker) {
  const std::string path = ::testing::TempDir() + "hidden." + std::to_string(::getpid());
  ::setenv("FAKE_WORKER_PIDS", path.c_str(), 1);
  LinkHarness link({FAKE_WORKER, "breed"});
  ASSERT_TRUE(link.wait([&] { return pids_in(path).size() == 3; }));
  ASSERT_EQ(::kill(link->status().pid, SIGKILL), 0);
  ASSERT_TRUE(link.wait_for_state(LinkState::Lost, kSoon));
  EXPECT_EQ(link->status().reason, "killed by signal 9");
  for (const int pid : pids_in(path)) EXPECT_FALSE(runs(pid)) << pid;
  ::unlink(path.c_str());
}

/// A child that sleeps, as a program may have besides its workers; `leaves`: in place of it, a
/// child of it that it has left to its next of kin.
pid_t sleeping_child(bool leaves) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t sleeper = leaves ? ::fork() : 0;
    if (sleeper == 0) {
      const pid_t self = ::getpid();
      static_cast<void>(::write(ends[1], &self, sizeof self) < 0);
      ::execlp("sleep", "sleep", "60", nullptr);
    }
    ::_exit(0);
  }
  pid_t sleeper = 0;
  EXPECT_EQ(::read(ends[0], &sleeper, sizeof sleeper), static_cast<ssize_t>(sizeof sleeper));
  if (leaves) ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  return sleeper;
}

TEST(MisbehavingWorker, OneWhoseDescendantKillsItsGuardLeavesNothing) {
  const std::string path = ::testing::TempDir() + "orphans." + std::to_string(::getpid());
  ::setenv("FAKE_WORKER_PIDS", path.c_str(), 1);
  LinkHarness other({FAKE_WORKER});
  ASSERT_TRUE(other.wait([&] { return other.find_any<WorkerHello>() != nullptr; }));
  const pid_t child = sleeping_child(false);
  const pid_t left = sleeping_child(true);
  {
    LinkHarness link({FAKE_WORKER, "kills-guard"});
    ASSERT_TRUE(link.wait_for_state(LinkState::Lost, kSoon));
    EXPECT_EQ(link->status().reason, "killed by signal 9");
  }
  // Of the two, the second may have been ended before it could say who it is.
  ASSERT_FALSE(pids_in(path).empty());
  for (const int pid : pids_in(path)) EXPECT_FALSE(runs(pid)) << pid;
  // What this program did not start under that guard lives on.
  EXPECT_TRUE(runs(child));
  EXPECT_TRUE(runs(left));
  EXPECT_TRUE(runs(other->status().pid));
  const std::uint64_t id = other->submit({});
  EXPECT_TRUE(other.wait_for_answer(id));
  for (const pid_t sleeper : {child, left}) {
    ::kill(sleeper, SIGKILL);
    ::waitpid(sleeper, nullptr, 0);
  }
  ::unlink(path.c_str());
}

TEST(MisbehavingWorker, OneThatStopsItsGuardCannotMakeTheDestructorWait) {
  LinkHarness link({FAKE_WORKER, "stops-guard"});
  ASSERT_TRUE(link.wait([&] { return link.find_any<WorkerHello>() != nullptr; }));
  std::this_thread::sleep_for(200ms);  // it stops its guard after its greeting
  const int pid = link->status().pid;
  EXPECT_LT(seconds_of([&] { link.destroy(); }), 4.0);
  for (int i = 0; i < 100 && runs(pid); ++i) std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(runs(pid));
}

TEST(MisbehavingWorker, ALargeActivityArrivesWholeAndInOrder) {
  LinkHarness link({FAKE_WORKER, "big-activity"});
  const std::uint64_t id = link->submit({});
  ASSERT_TRUE(link.wait_for_answer(id));
  const RunDone* done = link.find<RunDone>(id);
  ASSERT_NE(done, nullptr);
  ASSERT_EQ(done->activity.records.size(), 300'000U);
  for (std::size_t i = 0; i < done->activity.records.size(); ++i) {
    ASSERT_EQ(done->activity.records[i].start_ns, static_cast<std::int64_t>(i));
  }
}

TEST(MisbehavingWorker, EveryOrderGetsOneAnswer) {
  LinkHarness link({FAKE_WORKER, "slow-answer"});
  // Before the greeting: all but the newest are replaced unsent.
  std::uint64_t last = 0;
  for (int i = 0; i < 100; ++i) last = link->submit({});
  EXPECT_EQ(last, 100U);
  ASSERT_TRUE(link.wait_for_answer(last));
  EXPECT_NE(link.find<RunDone>(last), nullptr);
  EXPECT_TRUE(link.wait([&] { return link.answers() == 100; }));
  EXPECT_TRUE(link.wait_for_state(LinkState::Responsive));
  EXPECT_EQ(link.failure(1)->error.code, engine::ErrorCode::Cancelled);
}

TEST(MisbehavingWorker, AnIdleWorkerDoesNotWakeTheCaller) {
  LinkHarness link({FAKE_WORKER});
  ASSERT_TRUE(link.wait_for_state(LinkState::Responsive));
  std::this_thread::sleep_for(200ms);
  const int before = link.wakes();
  std::this_thread::sleep_for(1s);
  EXPECT_EQ(link.wakes(), before) << "20 pulses per second without news must not cause redraws";
}

}  // namespace
}  // namespace app
