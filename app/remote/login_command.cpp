#include "app/remote/login_command.h"

#include <fmt/format.h>

#include <utility>

#include "app/remote/remote_script.h"

namespace app {
namespace {

// A profile may print, and read what is meant for the program: both streams are kept from it. csh
// has no login shell with a command; it reads its own file in any case.
constexpr std::string_view kAsLogin =
    "exec 3<&0 4>&1 </dev/null 1>&2; case \"${SHELL##*/}\" in "
    "bash|zsh|dash|ash|ksh|ksh93|mksh|sh) exec \"$SHELL\" -l -c 'exec \"$@\"' sh \"$@\" ;; "
    "fish) exec \"$SHELL\" -l -c 'exec $argv' \"$@\" ;; esac; exec \"$@\"";
// $1: a variable.
constexpr std::string_view kWithStreams =
    "export \"$1=${LD_LIBRARY_PATH-}\"; shift; exec \"$@\" <&3 >&4 3<&- 4>&-";

}  // namespace

engine::Result<std::vector<std::string>> login_argv(const WorkerCommand& worker,
                                                    std::string_view program,
                                                    const std::vector<std::string>& arguments,
                                                    std::string_view library_path) {
  if (!worker.remote) {
    return engine::Error{engine::ErrorCode::Internal, "the worker runs on this machine"};
  }
  WorkerCommand command = worker;
  command.program =
      fmt::format("{}/{}", worker.program.substr(0, worker.program.rfind('/')), program);
  command.arguments = arguments;
  command.cublaslt.clear();
  command.backend.clear();
  command.remote.reset();
  // As words of this machine, which also checks them.
  ENGINE_ASSIGN(const std::vector<std::string> there, command.argv());
  std::vector<std::string> words = {"sh", "-c", std::string(kWithStreams), "sh",
                                    std::string(library_path)};
  words.insert(words.end(), there.begin(), there.end());
  return ssh_argv(worker.ssh_options, *worker.remote, script_command(kAsLogin, words));
}

}  // namespace app
