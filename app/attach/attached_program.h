// A program that runs with libexpertscope-attach.so preloaded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/attach/running_program.h"
#include "engine/model/error.h"

namespace app {

/// What marked nodes are for, and what they cost (profiling/attach/README.md has the measurement).
inline constexpr const char* kMarkersMeaning =
    "Instantiates a copy of each graph in which a node behind every node writes that it has ended: "
    "a hang then shows which node runs. Costs 0.7 to 4 us per node and replay";

struct AttachOptions {
  std::vector<std::string> command;  // argument vector; looked up in PATH
  std::string only;  // record only processes with this word on their command line; empty = all
  std::optional<int> rank;                 // record only processes whose RANK is this
  bool compare_memory = false;             // hash all memory before and after replays
  bool markers = false;                    // graphs show how far a replay gets
  std::uint64_t spool_bytes = 0;           // limit of each process's spool; 0 = the library's own
  std::string folder;                      // of the spools; it exists
  std::string library{};                   // that is preloaded; empty = attach_library()
  std::string working_folder{};            // empty = this process's
  std::vector<std::string> environment{};  // "NAME=value", beside or instead of this process's
  /// Gets what the program prints. The program then has no terminal and no keyboard, and is a
  /// session of its own, which survives this process. Empty = it has this process's terminal.
  std::string output_file{};
  bool output_to_stderr = false;  // leave stdout to the caller
  /// Get what the program prints instead of a file, with the same effect; negative = they do not.
  int output_descriptor = -1;
  int errors_descriptor = -1;
};

/// libexpertscope-attach.so, which travels with the programs; an error says why this build has
/// none.
engine::Result<std::string> attach_library();

/// <cache>/attach/<date>-<pid>, a new one, mode 0700. Former ones of ended programs go after a
/// week.
engine::Result<std::string> new_spool_folder();

/// On this machine. Without an output file it is in the foreground, with this terminal: it gets the
/// keyboard and Ctrl+C as if it had been started alone. Not ended with this object: the program is
/// the user's.
class AttachedProgram : public RunningProgram {
 public:
  static engine::Result<AttachedProgram> start(const AttachOptions& options);

  pid_t pid() const override { return pid_; }
  std::optional<std::string> ended() override;
  /// With an output file its children form a group, and get the signals with it.
  void end(bool at_once) override;
  void interrupt() override;
  void send(int signal);

 private:
  AttachedProgram(pid_t pid, bool group) : pid_(pid), group_(group) {}
  pid_t pid_;
  bool group_;
  std::optional<std::string> end_;
};

}  // namespace app
