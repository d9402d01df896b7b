#include "tests/faults/fault_round.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "app/protocol/paths.h"

namespace app::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostQueuedBytes = 64U << 20;

/// What the user is told about a link that gives no answer.
bool has_word(const LinkStatus& status) { return status.cancel_overdue || !status.reason.empty(); }

}  // namespace

std::vector<std::string> FaultRound::run(std::vector<std::uint64_t>& kept) {
  {
    Caller caller = started(fault_.kind->name);
    go(caller);
    caller.leave();
    look_for_children(caller);
    settle(caller, kept);
  }
  // Most faults are followed by another desk's fresh worker; those at the start have none before
  // them.
  if (fault_.kind->moment == Moment::Start || random_() % 8 == 0) {
    Caller fresh = started("none");
    const std::uint64_t id = fresh.order();
    if (!fresh.wait([&] { return fresh.finished(id); }, kAnswerSeconds)) {
      fresh.complain("a fresh worker after it does not answer");
    }
    fresh.leave();
    settle(fresh, kept);
  }
  return complaints_;
}

Caller FaultRound::started(std::string_view kind) {
  return Caller({executable_folder() + "/faulty_worker", std::string(kind),
                 fmt::to_string(fault_.seed), fmt::to_string(orders_before_)},
                recorder_, patience_);
}

void FaultRound::settle(const Caller& caller, std::vector<std::uint64_t>& kept) {
  complaints_.insert(complaints_.end(), caller.complaints().begin(), caller.complaints().end());
  kept.insert(kept.end(), caller.kept().begin(), caller.kept().end());
}

void FaultRound::go(Caller& caller) {
  switch (fault_.kind->moment) {
    case Moment::Start:
      return expect(caller, 0);
    case Moment::Order: {
      if (!orders_before(caller)) return;
      if (fault_.kind->name == "great-flood") return great_flood(caller);
      if (fault_.kind->name == "owed-flood") return owed_flood(caller);
      return expect(caller, caller.order());
    }
    case Moment::Signal:
      return signal(caller);
    case Moment::Caller:
      return haste(caller);
  }
}

bool FaultRound::orders_before(Caller& caller) {
  for (int i = 0; i < orders_before_; ++i) {
    const std::uint64_t id = caller.order();
    if (!caller.wait([&] { return caller.finished(id); }, kAnswerSeconds)) {
      caller.complain(fmt::format("before the fault: order {} is not answered, the link is {}", id,
                                  words(caller)));
      return false;
    }
  }
  return true;
}

std::string FaultRound::words(Caller& caller) {
  constexpr const char* kNames[] = {"starting", "responsive", "busy", "stalled", "lost"};
  const LinkStatus now = caller.status();
  return fmt::format("{} ({})", kNames[static_cast<std::size_t>(now.state)], now.reason);
}

void FaultRound::expect(Caller& caller, std::uint64_t id) {
  switch (fault_.kind->expect) {
    case Expect::Lost:
      return expect_state(caller, LinkState::Lost, id);
    case Expect::Stalled:
      return expect_state(caller, LinkState::Stalled);
    case Expect::Lives:
      return expect_life(caller, id);
    case Expect::LostOrLives:
      return expect_either(caller, id);
    case Expect::Waits:
      return expect_freedom(caller);
    case Expect::Shown:
      if (!caller.wait([&] { return caller.answered(id); }, kAnswerSeconds)) {
        caller.complain(
            fmt::format("a hostile result is not let in, the link is {}", words(caller)));
      }
      return expect_life(caller, 0);
  }
}

void FaultRound::expect_state(Caller& caller, LinkState state, std::uint64_t id) {
  if (!caller.wait_for_state(state, kNoticeSeconds)) {
    caller.complain(fmt::format("after {} s the link is {}, not {}", kNoticeSeconds, words(caller),
                                state == LinkState::Lost ? "lost" : "stalled"));
  }
  const bool answers_first =
      fault_.kind->name == "answers-twice" || fault_.kind->name == "fails-and-finishes";
  if (id != 0 && answers_first && !caller.finished(id)) {
    caller.complain("a finished run did not arrive");
  }
}

void FaultRound::expect_life(Caller& caller, std::uint64_t id) {
  if (fault_.kind->name == "answers-reversed") {
    // The second is sent once the worker holds the first.
    caller.wait([&] { return caller.status().pulse.request_id == id; }, 0.5);
    const std::uint64_t second = caller.order();
    if (!caller.wait([&] { return caller.answered(second); }, kAnswerSeconds)) {
      caller.complain("the second of two orders is not answered");
    }
  }
  if (id != 0 && !caller.wait([&] { return caller.finished(id); }, kAnswerSeconds)) {
    caller.complain(fmt::format("the order is not answered, the link is {}", words(caller)));
    return;
  }
  const std::uint64_t next = caller.order();
  if (!caller.wait([&] { return caller.finished(next); }, kAnswerSeconds)) {
    caller.complain(fmt::format("the next order is not answered, the link is {}", words(caller)));
  }
}

void FaultRound::expect_either(Caller& caller, std::uint64_t id) {
  const auto lost = [&] { return caller.status().state == LinkState::Lost; };
  caller.wait([&] { return lost() || (id != 0 && caller.answered(id)); }, 0.3);
  if (lost()) return refused(caller);
  const std::uint64_t next = caller.order();
  if (caller.wait([&] { return lost() || caller.finished(next); }, kNoticeSeconds)) {
    if (lost()) refused(caller);
    return;
  }
  // A length that grew swallows what follows: equivalent to no answer at all.
  expect_freedom(caller);
}

void FaultRound::refused(Caller& caller) {
  const std::string reason = caller.status().reason;
  if (reason.starts_with("exited with") || reason.starts_with("killed by")) {
    caller.complain("the link had no word on it: the worker " + reason);
  }
}

void FaultRound::expect_freedom(Caller& caller) {
  if (fault_.kind->name == "deaf") {
    // More than a pipe holds, before or after an order.
    const bool order_first = random_() % 2 == 0;
    if (order_first) caller.order();
    caller.wait([] { return false; }, 0.05);
    caller.timed("inspect_file()",
                 [&] { caller.link().inspect_file({.path = std::string(1 << 20, 'p')}); });
    if (!order_first) caller.order();
  }
  caller.wait([&] { return caller.status().state == LinkState::Lost; }, 0.2);
  if (caller.status().state == LinkState::Starting) return;
  caller.timed("cancel()", [&] { caller.link().cancel(); });
  const auto word = [&] { return has_word(caller.status()) || caller.all_answered(); };
  if (!caller.wait(word, kNoticeSeconds + 1)) {
    caller.complain(
        fmt::format("a cancel that is not answered has no word after {} s: the link is {}",
                    kNoticeSeconds + 1, words(caller)));
  }
}

void FaultRound::pause(std::uint64_t most_us) {
  std::this_thread::sleep_for(std::chrono::microseconds(random_() % most_us));
}

void FaultRound::signal(Caller& caller) {
  const int number = fault_.kind->number;
  const bool gentle = number == SIGCONT || number == SIGSTOP;
  // Before the greeting silence is allowed ten seconds: a stopped worker is detected by its
  // pulses.
  const bool greeted = gentle || random_() % 4 != 0;
  if (greeted && !caller.wait_for_state(LinkState::Responsive, kAnswerSeconds)) {
    return caller.complain("the worker does not greet");
  }
  const std::uint64_t id = greeted && random_() % 4 != 0 ? caller.order() : 0;
  pause(greeted ? 3000 : 20'000);
  ::kill(caller.pid(), gentle ? SIGSTOP : number);
  if (number == SIGCONT) {
    pause(100'000);
    ::kill(caller.pid(), SIGCONT);
    return expect_life(caller, id);
  }
  expect(caller, id);
  if (number == SIGSTOP && random_() % 2 == 0) {
    ::kill(caller.pid(), SIGCONT);
    expect_life(caller, id);
  }
}

void FaultRound::haste(Caller& caller) {
  if (fault_.kind->name == "caller-cancels") return cancel_and_order(caller);
  if (random_() % 2 == 0) caller.wait_for_state(LinkState::Responsive, kAnswerSeconds);
  if (random_() % 2 == 0) caller.order();
  pause(20'000);
  if (fault_.kind->name == "caller-leaves") return caller.leave();
  caller.timed("kill()", [&] { caller.link().kill(); });
  expect_state(caller, LinkState::Lost);
}

void FaultRound::cancel_and_order(Caller& caller) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t n = 1 + random_() % 20; n > 0; --n) {
    switch (random_() % 6) {
      case 0:
        caller.timed("cancel()", [&] { caller.link().cancel(); });
        break;
      case 1:
        caller.link().inspect_file({.path = "/nowhere"});
        break;
      case 2:
        caller.link().watch_device(random_() % 2 == 0);
        break;
      case 3:
        ids.push_back(caller.link().submit(engine::ComparisonRequest{}));
        caller.ordered_other(ids.back());
        break;
      case 4:
        ids.push_back(caller.link().submit(engine::default_series({})));
        caller.ordered_other(ids.back());
        break;
      default:
        ids.push_back(caller.order());
    }
    pause(2000);
  }
  ids.push_back(caller.order());
  for (const std::uint64_t id : ids) {
    if (!caller.wait([&] { return caller.answered(id); }, kAnswerSeconds)) {
      caller.complain(fmt::format("order {} of {} has no answer", id, ids.size()));
    }
  }
}

void FaultRound::watch_heap(Caller& caller, const std::function<void()>& begin) {
  const std::size_t before = heap_bytes();
  begin();
  std::size_t most = 0;
  for (const auto end = Clock::now() + 2s; Clock::now() < end;) {
    most = std::max(most, heap_bytes());
    std::this_thread::sleep_for(5ms);
  }
  const std::size_t kept = most > before ? most - before : 0;
  if (kept > kMostQueuedBytes) {
    caller.complain(fmt::format("unread events take {} MB; the limit is {}", kept >> 20,
                                kMostQueuedBytes >> 20));
  }
}

void FaultRound::great_flood(Caller& caller) {
  std::uint64_t id = 0;
  watch_heap(caller, [&] { id = caller.order(); });
  expect_either(caller, id);
}

void FaultRound::owed_flood(Caller& caller) {
  std::uint64_t id = 0;
  watch_heap(caller, [&] { id = caller.link().submit(engine::BenchOrder{}); });
  caller.ordered_other(id);
  if (!caller.wait([&] { return caller.answered(id); }, kAnswerSeconds)) {
    caller.complain(
        fmt::format("an order of many rows does not end, the link is {}", words(caller)));
  }
  if (caller.rows() != kOwedRows) {
    caller.complain(fmt::format("{} of {} rows arrived", caller.rows(), kOwedRows));
  }
  expect_life(caller, 0);
}

void FaultRound::look_for_children(Caller& caller) {
  for (const pid_t child : caller.left_behind()) {
    const auto end = Clock::now() + Seconds(kNoticeSeconds * patience_);
    while (!gone(child) && Clock::now() < end) std::this_thread::sleep_for(1ms);
    if (gone(child)) continue;
    caller.complain(fmt::format("a child of the worker ({}) outlives it", child));
    ::kill(child, SIGKILL);
  }
}

}  // namespace app::testing
