#include "app/protocol/worker_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/protocol/paths.h"
#include "app/protocol/terminal_text.h"

namespace app {
namespace {

/// ssh passes the name to programs of its configuration (ProxyCommand's %h) through a shell.
bool names_a_machine(std::string_view destination) {
  const auto allowed = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-@:%[]/").find(static_cast<char>(c)) != std::string_view::npos;
  };
  constexpr std::string_view kScheme = "ssh://";
  if (destination.starts_with(kScheme)) destination.remove_prefix(kScheme.size());
  // Neither the host name nor the user name may look like an option.
  const std::string_view host = destination.substr(destination.rfind('@') + 1);
  return !host.empty() && !host.starts_with('-') && !destination.starts_with('-') &&
         std::ranges::all_of(destination, allowed);
}

}  // namespace

engine::Status check_machine_name(std::string_view destination) {
  if (names_a_machine(destination)) return {};
  return engine::Error{engine::ErrorCode::InvalidArgument,
                       fmt::format("'{}' is not a machine name, which may only have letters, "
                                   "digits and . _ - @ : % [ ] /; "
                                   "give any other machine an alias (Host) in ~/.ssh/config",
                                   terminal_text(destination))};
}

std::vector<std::string> ssh_argv(const std::vector<std::string>& options,
                                  const std::string& destination, std::string command) {
  // BatchMode: a password prompt would wait on a terminal that the worker's process group cannot
  // read. After "--" ssh does not treat anything as an option.
  std::vector<std::string> argv = {"ssh", "-T", "-o", "BatchMode=yes"};
  argv.insert(argv.end(), options.begin(), options.end());
  argv.insert(argv.end(), {"--", destination, std::move(command)});
  return argv;
}

std::string shell_quoted(std::string_view word) {
  // Within single quotes every character except the quote stands for itself; in fish a backslash
  // does not, so it stands outside, too.
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'' || c == '\\') {
      quoted += std::string("'\\") + c + '\'';
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./=:,+@%";
  const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos;
  return plain ? std::string(word) : shell_quoted(word);
}

engine::Result<std::vector<std::string>> WorkerCommand::argv() const {
  std::vector<std::string> words = launcher;
  if (!environment.empty()) {
    words.emplace_back(remote ? "env" : "/usr/bin/env");
    words.insert(words.end(), environment.begin(), environment.end());
  }
  const std::string default_program = remote ? "expertscope-worker" : worker_program();
  words.push_back(program.empty() ? default_program : program);
  words.insert(words.end(), arguments.begin(), arguments.end());
  if (!cublaslt.empty()) words.insert(words.end(), {"--cublaslt", cublaslt});
  if (!backend.empty()) words.insert(words.end(), {"--backend", backend});
  for (const std::string& word : words) {
    if (word.find('\0') == std::string::npos) continue;
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         fmt::format("'{}' has a zero byte, which cannot be passed to a program",
                                     terminal_text(word))};
  }
  if (!remote) return words;
  ENGINE_TRY(check_machine_name(*remote));
  // ssh joins the words after the destination with blanks, and the login shell there parses them.
  std::string command;
  for (const std::string& word : words) {
    if (!command.empty()) command += ' ';
    command += shell_quoted(word);
  }
  return ssh_argv(ssh_options, *remote, std::move(command));
}

}  // namespace app
