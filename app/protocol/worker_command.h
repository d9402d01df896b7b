// Which worker is started, and the one place that builds its command: on this machine a vector that
// no shell reads; on another machine an ssh command whose last word is parsed by the login shell
// there, so that every word in it is quoted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"

namespace app {

struct WorkerCommand {
  std::string program;  // empty = next to this program; on another machine, found on PATH there
  std::optional<std::string> remote = {};     // ssh destination; nullopt = this machine
  std::vector<std::string> ssh_options = {};  // of an open connection to it; empty = a new one
  std::vector<std::string> launcher = {};     // starts the worker there: {"srun", "--gpus=1"}
  std::vector<std::string> arguments = {};    // to the worker, before the two below
  std::string cublaslt = {};  // path on the worker's machine; empty = the worker's choice
  std::string backend = {};   // auto, cpu or cuda; empty = the worker's choice
  std::vector<std::string> environment = {};  // "NAME=value", set where the worker runs

  /// Returns InvalidArgument for a destination that ssh would not take as a machine name.
  engine::Result<std::vector<std::string>> argv() const;
};

/// InvalidArgument for a destination that ssh would not take as a machine name. Accepted are
/// "user@host", "ssh://user@host:port", an IPv6 address with its zone, and an alias from the ssh
/// configuration.
engine::Status check_machine_name(std::string_view destination);

/// ssh with these options, which runs `command` there: constant text and shell_quoted() words,
/// since the login shell there parses it. ssh asks nothing.
std::vector<std::string> ssh_argv(const std::vector<std::string>& options,
                                  const std::string& destination, std::string command);

/// A shell word (POSIX) that stands for exactly these characters.
std::string shell_quoted(std::string_view word);
/// The same, for people: a word that needs no quotes has none.
std::string shell_word(std::string_view word);

}  // namespace app
