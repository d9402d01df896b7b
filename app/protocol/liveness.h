// What silence means: the link's state from the times of pulses and progress, what the user is told
// while a program waits for a worker that shows none, and when the program should give up. Pure
// arithmetic on the times passed in, so that it can be tested without a clock. Not thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>

#include "app/protocol/worker_link.h"

namespace app {

inline constexpr std::chrono::milliseconds kPulseLimit{550};  // a worker pulses every 50 ms
inline constexpr std::chrono::seconds kStartLimit{10};  // CUDA and a slow ssh need a few seconds

class Liveness {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Liveness(Time now, double progress_stall_seconds)
      : started_(now),
        heard_(now),
        progressed_(now),
        progress_stall_seconds_(progress_stall_seconds) {}

  /// Any bytes from the worker count: while a large result travels, its pulses queue behind it.
  void heard(Time now) { heard_ = now; }
  void greeted() { greeted_ = true; }
  void pulse(const PulseReport& pulse, Time now);
  /// An order, or part of an answer.
  void progressed(Time now) { progressed_ = now; }
  void lost(std::string reason);

  /// `awaiting` = a submitted run has not been answered yet.
  LinkState state(Time now, bool awaiting) const;
  std::string reason(Time now, bool awaiting) const;
  const PulseReport& last_pulse() const { return pulse_; }
  double seconds_silent(Time now) const;
  double seconds_still(Time now) const;

 private:
  bool silent(Time now) const;
  bool stuck(Time now) const;

  Time started_;
  Time heard_;
  Time progressed_;
  double progress_stall_seconds_;
  bool greeted_ = false;
  bool lost_ = false;
  std::string lost_reason_;
  PulseReport pulse_;
};

/// For whoever waits.
class Patience {
 public:
  /// A wait is never silent for longer than this.
  static constexpr double kWordSeconds = 2;
  /// torch loading from a cold disk, as a benchmark's peer, has taken three minutes without a sign.
  static constexpr double kDefaultLimitSeconds = 300;

  /// `limit_seconds` may pass without any sign: nothing heard, no progress, no part of an answer. 0
  /// = no limit. How long an order takes in total does not matter.
  explicit Patience(double limit_seconds) : limit_seconds_(limit_seconds > 0 ? limit_seconds : 0) {}

  /// A sentence once kWordSeconds have passed: once for each kind of silence.
  std::optional<std::string> word(const LinkStatus& status);
  /// Why the wait should end.
  std::optional<std::string> exhausted(const LinkStatus& status) const;

 private:
  enum class Silence { Greeting, Pulses, Begin, Progress, Cancel };
  static std::optional<Silence> silence_of(const LinkStatus& status);
  static std::string words_of(Silence silence, const LinkStatus& status);

  double limit_seconds_;
  std::set<Silence> told_;
};

}  // namespace app
