// A program that was started to be watched, on this machine or another one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace app {

/// What hangs are told from: the machine on which the processes run.
struct ProcessMachine {
  std::function<std::uint64_t()> now;  // nanoseconds on its CLOCK_MONOTONIC
  /// What the driver says of the device at this PCI address; waits for about a second.
  std::function<std::string(const std::string&)> device;
  bool takes_core_dumps = false;  // of a device of it
};
ProcessMachine this_machine();

class RunningProgram {
 public:
  virtual ~RunningProgram() = default;

  /// On its machine.
  virtual pid_t pid() const = 0;
  /// "ended with exit code 0", "was killed by signal 9 (Killed)"; none while it runs.
  virtual std::optional<std::string> ended() = 0;
  /// Nothing more is heard of it, as ended() says; it may run on.
  virtual bool lost() const { return false; }
  /// Asks the program to end; `at_once` leaves it no choice, as a process needs that waits for a
  /// device that hangs.
  virtual void end(bool at_once) = 0;
  /// What Ctrl+C does where a program has no terminal of its own.
  virtual void interrupt() = 0;
  virtual ProcessMachine machine() const { return this_machine(); }
};

}  // namespace app
