// A program that runs with libexpertscope-attach.so preloaded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/error.h"

namespace app {

struct AttachOptions {
  std::vector<std::string> command;  // argument vector; looked up in PATH
  std::string only;  // record only processes with this word on their command line; empty = all
  std::optional<int> rank;        // record only processes whose RANK is this
  std::uint64_t spool_bytes = 0;  // limit of each process's spool; 0 = the library's own
  std::string folder;             // of the spools; it exists
  bool output_to_stderr = false;  // leave stdout to the caller
};

/// libexpertscope-attach.so, which travels with the programs; an error says why this build has
/// none.
engine::Result<std::string> attach_library();

/// <cache>/attach/<date>-<pid>, mode 0700. Former ones of ended programs go after a week.
engine::Result<std::string> new_spool_folder();

/// In the foreground, with this terminal: it gets the keyboard and Ctrl+C as if it had been started
/// alone. Not ended with this object: the program is the user's.
class AttachedProgram {
 public:
  static engine::Result<AttachedProgram> start(const AttachOptions& options);

  pid_t pid() const { return pid_; }
  /// "ended with exit code 0", "was killed by signal 9 (Killed)"; none while it runs.
  std::optional<std::string> ended();
  /// Asks it to end, and kills it if it has not after five seconds. A process that waits for a
  /// device that hangs ends only when it is killed.
  void end();

 private:
  explicit AttachedProgram(pid_t pid) : pid_(pid) {}
  pid_t pid_;
  std::optional<std::string> end_;
};

}  // namespace app
