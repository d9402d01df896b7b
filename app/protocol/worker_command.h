// Which worker is started, and the one place that makes the words of its command: on this machine a
// vector that no shell reads; on another one an ssh command whose last word the login shell there
// reads, so that every word in it is quoted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"

namespace app {

struct WorkerCommand {
  std::string program;  // empty = beside this program; on another machine, found on PATH there
  std::optional<std::string> remote = {};     // ssh destination; nullopt = this machine
  std::vector<std::string> arguments = {};    // of the worker, before the two below
  std::string cublaslt = {};                  // path on the worker's machine; empty = its choice
  std::string backend = {};                   // auto, cpu or cuda; empty = its choice
  std::vector<std::string> environment = {};  // "NAME=value", set where the worker runs

  /// InvalidArgument names a destination that ssh would not take for the name of a machine.
  engine::Result<std::vector<std::string>> argv() const;
};

/// One word of a POSIX shell that stands for exactly these characters.
std::string shell_quoted(std::string_view word);

}  // namespace app
