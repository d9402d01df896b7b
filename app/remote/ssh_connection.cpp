#include "app/remote/ssh_connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
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

namespace app {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPoll{20};

/// In /tmp and short: the path of a socket has at most 107 characters, of which ssh adds 17.
engine::Result<std::string> private_folder() {
  std::string folder = "/tmp/expertscope-XXXXXX";
  if (::mkdtemp(folder.data()) != nullptr) return folder;  // mode 0700
  return engine::Error{engine::ErrorCode::Io,
                       fmt::format("cannot make a folder for ssh's control socket in /tmp: {}",
                                   std::strerror(errno))};
}

/// What ssh printed, without empty lines; the last lines say why it ended.
class LastWords {
 public:
  void read_from(int descriptor) {
    std::array<char, 4096> bytes;
    while (true) {
      const ssize_t count = ::read(descriptor, bytes.data(), bytes.size());
      if (count <= 0) return;
      for (std::string& line : lines_.append({bytes.data(), static_cast<std::size_t>(count)})) {
        last_ = std::move(line);
      }
    }
  }
  const std::string& last() const { return last_; }

 private:
  LineSplitter lines_;
  std::string last_;
};

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
  ENGINE_ASSIGN(made->ssh_,
                ChildProcess::start({"/usr/bin/env",
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
                                     "-o",
                                     "ControlPersist=no",
                                     "-o",
                                     "ClearAllForwardings=yes",
                                     "-o",
                                     "RemoteCommand=none",
                                     "-o",
                                     "ConnectTimeout=20",
                                     "-o",
                                     "ServerAliveInterval=3",
                                     "-o",
                                     "ServerAliveCountMax=4",
                                     "--",
                                     destination}));
  made->ssh_->input.reset();
  LastWords words;
  while (true) {
    if (stop && stop()) {
      return engine::Error{engine::ErrorCode::Cancelled, "connecting was cancelled"};
    }
    words.read_from(made->ssh_->errors.get());
    if (std::optional<SshQuestion> question = questions.next()) {
      questions.answer(ask ? ask(*question) : std::nullopt);
    }
    // ssh makes its control socket once it is authenticated.
    struct stat there{};
    if (::stat(socket.c_str(), &there) == 0) return made;
    if (const std::optional<std::string> end = made->ssh_->try_reap()) {
      words.read_from(made->ssh_->errors.get());
      return engine::Error{engine::ErrorCode::Device,
                           fmt::format("ssh cannot reach {}: {}", terminal_text(destination),
                                       words.last().empty() ? *end : terminal_text(words.last()))};
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

std::string SshConnection::lost() const {
  const std::lock_guard lock(mutex_);
  if (!lost_.empty()) return lost_;
  const std::optional<std::string> end = ssh_->try_reap();
  if (!end) return {};
  LastWords words;
  words.read_from(ssh_->errors.get());
  lost_ = words.last().empty() ? "ssh " + *end : terminal_text(words.last());
  // It becomes a part of sentences.
  if (lost_.ends_with('.')) lost_.pop_back();
  return lost_;
}

}  // namespace app
