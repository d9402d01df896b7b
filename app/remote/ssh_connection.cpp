#include "app/remote/ssh_connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "app/protocol/descriptor.h"
#include "app/protocol/paths.h"
#include "app/protocol/terminal_text.h"
#include "app/protocol/worker_command.h"
#include "app/remote/question_pipes.h"
#include "app/remote/remote_script.h"
#include "engine/input/regular_file.h"

namespace app {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPoll{20};
constexpr std::size_t kMaxErrors = std::size_t{64} << 10;  // all that a pipe holds

/// In /tmp and short: the path of a socket has at most 107 characters, of which ssh adds 17.
engine::Result<std::string> private_folder() {
  std::string folder = "/tmp/expertscope-XXXXXX";
  if (::mkdtemp(folder.data()) != nullptr) return folder;  // mode 0700
  return engine::Error{engine::ErrorCode::Io,
                       fmt::format("cannot make a folder for ssh's control socket in /tmp: {}",
                                   std::strerror(errno))};
}

}  // namespace

engine::Result<std::unique_ptr<SshConnection>> SshConnection::open(
    const std::string& destination, const AskUser& ask, const std::function<bool()>& stop) {
  ENGINE_TRY(check_machine_name(destination));
  std::unique_ptr<SshConnection> made(new SshConnection());
  made->destination_ = destination;
  ENGINE_ASSIGN(made->folder_, private_folder());
  ENGINE_ASSIGN(QuestionPipes questions, QuestionPipes::make(made->folder_));
  const std::string socket = made->folder_ + "/ssh";
  // A ProxyCommand that fails: an ssh whose shared connection is gone would connect by itself.
  made->options_ = {"-S", socket, "-o", "ControlMaster=no", "-o", "ProxyCommand=false"};
  // What the configuration forwards or runs there is for people's own sessions.
  const std::vector<std::string> plain = {"-o", "ClearAllForwardings=yes", "-o",
                                          "RemoteCommand=none"};
  made->options_.insert(made->options_.end(), plain.begin(), plain.end());
  // Its messages go to a file: nobody reads a pipe once it is connected.
  std::vector<std::string> argv = {"/usr/bin/env",
                                   fmt::format("{}={}", kQuestionFolder, made->folder_),
                                   "SSH_ASKPASS=" + askpass_program(),
                                   "SSH_ASKPASS_REQUIRE=force",
                                   "ssh",
                                   "-N",
                                   "-T",
                                   "-a",
                                   "-x",
                                   "-M",
                                   "-S",
                                   socket,
                                   "-E",
                                   made->log(),
                                   "-o",
                                   "ControlPersist=no",
                                   "-o",
                                   "ConnectTimeout=20",
                                   "-o",
                                   "ServerAliveInterval=3",
                                   "-o",
                                   "ServerAliveCountMax=4"};
  argv.insert(argv.end(), plain.begin(), plain.end());
  argv.insert(argv.end(), {"--", destination});
  ENGINE_ASSIGN(made->ssh_, ChildProcess::start(argv, made->folder_));
  made->ssh_->input.reset();
  bool shows = false;  // a notice
  while (true) {
    if (stop && stop()) {
      return engine::Error{engine::ErrorCode::Cancelled, "connecting was cancelled"};
    }
    if (const std::optional<ConnectQuestion> question = questions.next()) {
      std::optional<std::string> answer = ask ? ask(*question) : std::nullopt;
      shows = question->kind == ConnectQuestion::Kind::Notice && !question->text.empty();
      if (question->kind != ConnectQuestion::Kind::Notice) questions.answer(std::move(answer));
    }
    // ssh makes its control socket once it is authenticated.
    struct stat there{};
    if (::stat(socket.c_str(), &there) == 0) {
      if (shows && ask) ask({.kind = ConnectQuestion::Kind::Notice, .text = {}});
      return made;
    }
    if (const std::optional<std::string> end = made->ssh_->try_reap()) {
      return engine::Error{engine::ErrorCode::Device,
                           fmt::format("ssh cannot reach {}: {}", terminal_text(destination),
                                       made->last_words(*end))};
    }
    std::this_thread::sleep_for(kPoll);
  }
}

SshConnection::~SshConnection() {
  ssh_.reset();
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

engine::Result<std::optional<ChildEnd>> SshConnection::run(const std::string& command,
                                                           ChildRun run) const {
  run.argv = ssh_argv(options_, destination_, command);
  return run_child(run);
}

std::string SshConnection::last_words(const std::string& otherwise) const {
  constexpr std::size_t kMaxLog = std::size_t{16} << 20;
  const engine::Result<std::string> text = engine::read_file(log(), kMaxLog);
  const std::string own = last_line(text.ok() ? text.value() : std::string(), "");
  if (!own.empty()) return own;
  // What a program said that ssh started, such as a ProxyCommand.
  std::string errors(kMaxErrors, '\0');
  const ssize_t count = ::read(ssh_->errors.get(), errors.data(), errors.size());
  errors.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return last_line(errors, otherwise);
}

std::string SshConnection::lost() const {
  const std::lock_guard lock(mutex_);
  if (!lost_.empty()) return lost_;
  const std::optional<std::string> end = ssh_->try_reap();
  if (!end) return {};
  lost_ = last_words("ssh " + *end);
  // It becomes a part of sentences.
  if (lost_.ends_with('.')) lost_.pop_back();
  return lost_;
}

}  // namespace app
