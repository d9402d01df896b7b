// A fault is one round: a fresh worker, orders that it answers correctly, the fault, what must be
// observed of it, and what it leaves behind.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "app/controllers/recorder.h"
#include "tests/faults/fault_kinds.h"
#include "tests/faults/link_caller.h"

namespace app::testing {

inline constexpr double kNoticeSeconds = 2;  // until a fault is reported

struct Fault {
  std::int64_t index;
  std::uint64_t seed;
  const FaultKind* kind;
};

class FaultRound {
 public:
  /// `patience`: extends every limit by this factor.
  FaultRound(const Fault& fault, double patience, Recorder* recorder)
      : fault_(fault),
        patience_(patience),
        recorder_(recorder),
        random_(fault.seed),
        orders_before_(static_cast<int>(random_() % 3)) {}

  /// Returns what was wrong; empty = every promise was kept. Appends the runs that must be in the
  /// recording.
  std::vector<std::string> run(std::vector<std::uint64_t>& kept);

 private:
  Caller started(std::string_view kind);
  void settle(const Caller& caller, std::vector<std::uint64_t>& kept);
  void go(Caller& caller);
  bool orders_before(Caller& caller);
  static std::string words(Caller& caller);
  void expect(Caller& caller, std::uint64_t id);
  /// `id`: an order that is answered before the worker breaks its promise.
  void expect_state(Caller& caller, LinkState state, std::uint64_t id = 0);
  void expect_life(Caller& caller, std::uint64_t id);
  void expect_either(Caller& caller, std::uint64_t id);
  /// By the link, not by an accidental crash of the faulty worker.
  static void refused(Caller& caller);
  /// No answer comes. A cancel gets a response within two seconds, and the caller may leave.
  void expect_freedom(Caller& caller);
  void pause(std::uint64_t most_us);
  void signal(Caller& caller);
  void haste(Caller& caller);
  /// In any sequence: every order has one answer, even if another one replaced it.
  void cancel_and_order(Caller& caller);
  /// Alone in the process, so that the heap shows what the link keeps while it is not polled.
  void watch_heap(Caller& caller, const std::function<void()>& begin);
  void great_flood(Caller& caller);
  void owed_flood(Caller& caller);
  void look_for_children(Caller& caller);

  const Fault fault_;
  const double patience_;
  Recorder* recorder_;
  std::mt19937_64 random_;
  const int orders_before_;
  std::vector<std::string> complaints_;
};

}  // namespace app::testing
