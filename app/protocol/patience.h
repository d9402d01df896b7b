// What the user is told while a program waits for a worker that shows no progress, and when the
// program should give up. Pure arithmetic on the link's status. Not thread-safe.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "app/protocol/worker_link.h"

namespace app {

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
