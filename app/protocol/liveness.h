// The state of a link, from when the worker last pulsed and made progress; what a waiting program
// reports, and when it gives up. Takes the times as arguments, so that tests need no clock. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>

#include "app/protocol/worker_link.h"

namespace app {

inline constexpr std::chrono::milliseconds kPulseLimit{550};  // a worker pulses every 50 ms
inline constexpr std::chrono::seconds kStartLimit{10};  // CUDA and a slow ssh need a few seconds

/// All is equal but the echo and the state of the device, which change whether or not anything
/// happens.
bool same_progress(const PulseReport& a, PulseReport b);

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

/// For a program that waits for an answer.
class WaitReporter {
 public:
  /// Seconds without progress before the first notice.
  static constexpr double kNoticeSeconds = 2;
  /// A benchmark's peer that loads torch from a cold disk has taken three minutes.
  static constexpr double kDefaultLimitSeconds = 300;

  /// `limit_seconds` may pass without a pulse, progress or part of an answer; 0 = no limit. An
  /// order may take any time in total.
  /// `quiet_seconds`: a run that is known to be long may make no progress for so long unreported.
  explicit WaitReporter(double limit_seconds, double quiet_seconds = kNoticeSeconds)
      : limit_seconds_(limit_seconds > 0 ? limit_seconds : 0),
        quiet_seconds_(std::max(quiet_seconds, kNoticeSeconds)) {}

  /// A sentence once kNoticeSeconds have passed, once for each kind of silence.
  std::optional<std::string> word(const LinkStatus& status);
  /// Why the wait should end.
  std::optional<std::string> give_up_reason(const LinkStatus& status) const;

 private:
  enum class Silence { Greeting, Pulses, Begin, Progress, Cancel };
  static std::optional<Silence> silence_of(const LinkStatus& status);
  static std::string describe(Silence silence, const LinkStatus& status);

  double limit_seconds_;
  double quiet_seconds_;
  std::set<Silence> reported_;
};

}  // namespace app
