#include "app/remote/remote_script.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "app/protocol/terminal_text.h"
#include "app/protocol/worker_command.h"

namespace app {

std::string script_command(std::string_view script, const std::vector<std::string>& arguments) {
  std::string command = "sh -c " + shell_quoted(script) + " sh";
  for (const std::string& one : arguments) command += ' ' + shell_quoted(one);
  return command;
}

engine::Result<ChildEnd> performed_on(const SshConnection& ssh, const std::string& command,
                                      ChildRun run, std::string_view what) {
  ENGINE_ASSIGN(std::optional<ChildEnd> end, ssh.run(command, std::move(run)));
  if (!end) {
    return engine::Error{engine::ErrorCode::Cancelled, fmt::format("{} was cancelled", what)};
  }
  if (end->succeeded()) return *std::move(end);
  return engine::Error{engine::ErrorCode::Device,
                       fmt::format("{} failed on {}: {}", what, ssh.destination(),
                                   last_line(end->errors, "its command " + end->how))};
}

std::string last_line(std::string_view text, std::string_view otherwise) {
  // ssh ends its lines as a terminal does, with \r\n.
  constexpr std::string_view kEnds = "\r\n";
  text = text.substr(0, text.find_last_not_of(kEnds) + 1);
  text = text.substr(text.find_last_of(kEnds) + 1);
  return terminal_text(text.empty() ? otherwise : text);
}

}  // namespace app
