// A child in a process group of its own with pipes on its three standard streams. Started from an
// argument vector, never through a shell. Signals go to the whole group, and only while the leader
// has not been reaped, so that a recycled id is never hit. Thread-safe.
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
  static engine::Result<std::unique_ptr<ChildProcess>> start(const std::vector<std::string>& argv);

  ChildProcess(const ChildProcess&) = delete;  // one object may reap, a copy would reap a stranger
  ChildProcess& operator=(const ChildProcess&) = delete;
  /// Kills the group and reaps.
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  /// SIGKILL to the whole group; nothing if the child has been reaped.
  void kill_group();
  /// "exited with code 3" or "killed by signal 9" once the child has ended; what is left of its
  /// group is killed with it. Never blocks.
  std::optional<std::string> try_reap();

  // This process's ends, non-blocking.
  UniqueFd input;
  UniqueFd output;
  UniqueFd errors;

 private:
  ChildProcess() = default;

  pid_t pid_ = -1;
  std::mutex mutex_;
  std::optional<std::string> end_;  // set when reaped
};

}  // namespace app
