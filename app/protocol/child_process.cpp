#include "app/protocol/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

extern char** environ;

namespace app {
namespace {

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

bool open_pipe(Pipe& pipe) {
  int ends[2];
  // Close-on-exec: another child started at the same time must not hold this pipe open.
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe.read_end.reset(ends[0]);
  pipe.write_end.reset(ends[1]);
  return true;
}

void set_nonblocking(int descriptor) {
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

struct SpawnSettings {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;  // C structs that are destroyed by address
  SpawnSettings& operator=(const SpawnSettings&) = delete;
};

int spawn(const std::vector<std::string>& argv, const Pipe& in, const Pipe& out, const Pipe& err,
          pid_t& pid) {
  SpawnSettings settings;
  posix_spawn_file_actions_adddup2(&settings.actions, in.read_end.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, out.write_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, err.write_end.get(), STDERR_FILENO);
  // The window may block or ignore signals; the child starts with a clean slate.
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&settings.attributes, &signals);
  sigaddset(&signals, SIGPIPE);
  sigaddset(&signals, SIGXFSZ);
  posix_spawnattr_setsigdefault(&settings.attributes, &signals);
  posix_spawnattr_setpgroup(&settings.attributes, 0);
  posix_spawnattr_setflags(&settings.attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> arguments;
  for (const std::string& argument : argv) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // exec's C signature
  }
  arguments.push_back(nullptr);
  return ::posix_spawnp(&pid, arguments[0], &settings.actions, &settings.attributes,
                        arguments.data(), environ);
}

}  // namespace

engine::Result<std::unique_ptr<ChildProcess>> ChildProcess::start(
    const std::vector<std::string>& argv) {
  if (argv.empty() || argv.front().empty()) {
    return engine::Error{engine::ErrorCode::InvalidArgument, "no worker program was named"};
  }
  Pipe in;
  Pipe out;
  Pipe err;
  if (!open_pipe(in) || !open_pipe(out) || !open_pipe(err)) {
    return engine::Error{engine::ErrorCode::Io,
                         fmt::format("cannot open pipes to a worker: {}", std::strerror(errno))};
  }
  std::unique_ptr<ChildProcess> child(new ChildProcess());
  if (const int failure = spawn(argv, in, out, err, child->pid_); failure != 0) {
    child->pid_ = -1;
    return engine::Error{
        failure == ENOENT ? engine::ErrorCode::NotFound : engine::ErrorCode::Io,
        fmt::format("cannot start '{}': {}", argv.front(), std::strerror(failure))};
  }
  child->input = std::move(in.write_end);
  child->output = std::move(out.read_end);
  child->errors = std::move(err.read_end);
  for (const UniqueFd* end : {&child->input, &child->output, &child->errors}) {
    set_nonblocking(end->get());
  }
  return child;
}

ChildProcess::~ChildProcess() {
  if (pid_ < 0) return;
  kill_group();
  // SIGKILL ends a process at once unless it sits in an uninterruptible driver call; then its id is
  // left to the system rather than hanging the caller.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (!try_reap() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void ChildProcess::kill_group() {
  const std::lock_guard lock(mutex_);
  if (!end_ && pid_ > 0) ::kill(-pid_, SIGKILL);
}

std::optional<std::string> ChildProcess::try_reap() {
  const std::lock_guard lock(mutex_);
  if (end_) return end_;
  siginfo_t ended{};
  // Look without reaping first: while the leader is a zombie its group id cannot be reused.
  if (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      ended.si_pid == 0) {
    return std::nullopt;
  }
  ::kill(-pid_, SIGKILL);
  ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED);
  end_ = ended.si_code == CLD_EXITED ? fmt::format("exited with code {}", ended.si_status)
                                     : fmt::format("killed by signal {}", ended.si_status);
  return end_;
}

}  // namespace app
