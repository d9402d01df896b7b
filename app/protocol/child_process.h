// A child in its own process group with pipes on its three standard streams. Started from an
// argument vector, never through a shell, and under a guard process (worker_guard.h): the child and
// all its descendants end with this object, and with this process, however either ends. The first
// one makes this process a subreaper, which ends what a killed guard leaves. Only the destructor
// may block its caller. Thread-safe.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/protocol/descriptor.h"
#include "engine/model/error.h"

namespace app {

class ChildProcess {
 public:
  /// Does not wait until the program runs: one that cannot be started ends at once, and try_reap()
  /// says why. An error means that the guard could not be started, or that the system is out of
  /// pipes.
  /// `folder` is what the program works in: it is removed with the program when this object, or
  /// this process, ends before it.
  static engine::Result<std::unique_ptr<ChildProcess>> start(const std::vector<std::string>& argv,
                                                             const std::string& folder = {});

  ChildProcess(const ChildProcess&) = delete;  // a copy would reap an unrelated process
  ChildProcess& operator=(const ChildProcess&) = delete;
  /// Kills and reaps. Takes at most a second or two: a program that cannot be killed yet dies as
  /// soon as it can be.
  ~ChildProcess();

  /// pid of the program; 0 until it runs.
  pid_t pid() const;
  /// Sends SIGKILL to the program and all its descendants.
  void kill_all();
  /// "exited with code 3", "killed by signal 9" or "cannot start 'x': ..." once the child has
  /// ended; any descendants it left have been ended first. By one thread at a time.
  std::optional<std::string> try_reap();

  // This process's ends of the pipes, non-blocking.
  UniqueFd input;
  UniqueFd output;
  UniqueFd errors;

 private:
  ChildProcess() = default;
  void read_report() const;  // call with the lock held

  std::string program_;
  pid_t guard_ = -1;
  UniqueFd channel_;  // the guard kills when this is closed
  mutable std::mutex mutex_;
  mutable pid_t pid_ = 0;
  mutable int failure_ = 0;         // errno of a program that cannot be started
  bool reaped_ = false;             // the guard: its pid may be another process's from then on
  std::optional<std::string> end_;  // set once nothing of it is left either
};

}  // namespace app
