// A child in a process group of its own with pipes on its three standard streams. Started from an
// argument vector, never through a shell, and below a guard process (worker_guard.h): the child and
// all its descendants end with this object, and with this process, however either ends. Never
// blocks its caller, but for the destructor. Thread-safe.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/protocol/unique_fd.h"
#include "engine/model/error.h"

namespace app {

class ChildProcess {
 public:
  /// Does not wait until the program runs: one that cannot be started ends at once, and try_reap()
  /// says why. The error is of the guard, or of a system without pipes.
  static engine::Result<std::unique_ptr<ChildProcess>> start(const std::vector<std::string>& argv);

  ChildProcess(const ChildProcess&) = delete;  // one object may reap, a copy would reap a stranger
  ChildProcess& operator=(const ChildProcess&) = delete;
  /// Kills and reaps. At most a second or two: what cannot be killed now dies when it can.
  ~ChildProcess();

  /// Of the program; 0 until it runs.
  pid_t pid() const;
  /// SIGKILL to the program and all its descendants.
  void kill_all();
  /// "exited with code 3", "killed by signal 9" or "cannot start 'x': ..." once the child has
  /// ended; what was left of its descendants has ended before it.
  std::optional<std::string> try_reap();

  // This process's ends, non-blocking.
  UniqueFd input;
  UniqueFd output;
  UniqueFd errors;

 private:
  ChildProcess() = default;
  void read_report() const;  // with the lock held

  std::string program_;
  pid_t guard_ = -1;
  UniqueFd channel_;  // the guard kills when it is shut
  mutable std::mutex mutex_;
  mutable pid_t pid_ = 0;
  mutable int failure_ = 0;         // errno of a program that cannot be started
  std::optional<std::string> end_;  // set when reaped
};

}  // namespace app
