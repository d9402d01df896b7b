#include "app/protocol/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "app/protocol/descendants.h"
#include "app/protocol/paths.h"
#include "app/protocol/worker_guard.h"
#include "engine/model/path_text.h"

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

constexpr std::chrono::seconds kGuardExitLimit{1};  // for a guard that was asked to kill and exit
// For what a killed guard leaves: it has been sent SIGKILL, and ends unless a driver call holds it.
constexpr std::chrono::seconds kOrphanLimit{1};

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
  SpawnSettings(const SpawnSettings&) = delete;  // holds C structs that are referenced by address
  SpawnSettings& operator=(const SpawnSettings&) = delete;
};

struct Streams {
  Pipe in;
  Pipe out;
  Pipe err;
};

int spawn_guard(const std::vector<std::string>& argv, const std::string& folder,
                const Streams& streams, int channel, pid_t& pid) {
  SpawnSettings settings;
  posix_spawn_file_actions_adddup2(&settings.actions, streams.in.read_end.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, streams.out.write_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, streams.err.write_end.get(), STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, channel, kGuardChannel);
  // The window may block or ignore signals; the child starts with default signal handling.
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&settings.attributes, &signals);
  sigaddset(&signals, SIGPIPE);
  sigaddset(&signals, SIGXFSZ);
  sigaddset(&signals, SIGCHLD);  // if it were ignored, the guard would have no child to wait for
  posix_spawnattr_setsigdefault(&settings.attributes, &signals);
  posix_spawnattr_setpgroup(&settings.attributes, 0);
  posix_spawnattr_setflags(&settings.attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const std::string guard = guard_program();
  // exec's C signature takes no const.
  std::vector<char*> arguments = {const_cast<char*>(guard.c_str()),
                                  const_cast<char*>(folder.empty() ? kNoFolder : folder.c_str())};
  for (const std::string& argument : argv) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  return ::posix_spawn(&pid, guard.c_str(), &settings.actions, &settings.attributes,
                       arguments.data(), environ);
}

}  // namespace

engine::Result<std::unique_ptr<ChildProcess>> ChildProcess::start(
    const std::vector<std::string>& argv, const std::string& folder) {
  if (argv.empty() || argv.front().empty()) {
    return engine::Error{engine::ErrorCode::InvalidArgument, "no worker program was named"};
  }
  adopt_orphans();
  Streams streams;
  int ends[2] = {-1, -1};
  if (!open_pipe(streams.in) || !open_pipe(streams.out) || !open_pipe(streams.err) ||
      ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return engine::Error{engine::ErrorCode::Io,
                         fmt::format("cannot open pipes to a worker: {}", std::strerror(errno))};
  }
  std::unique_ptr<ChildProcess> child(new ChildProcess());
  child->program_ = argv.front();
  child->channel_.reset(ends[0]);
  // Above the guard's own descriptors, so that none of them is replaced before it is copied.
  const UniqueFd low(ends[1]);
  const UniqueFd channel(::fcntl(low.get(), F_DUPFD_CLOEXEC, kGuardChannel + 1));
  const int failure =
      channel.valid() ? spawn_guard(argv, folder, streams, channel.get(), child->guard_) : errno;
  if (failure != 0) {
    child->guard_ = -1;
    return engine::Error{failure == ENOENT ? engine::ErrorCode::NotFound : engine::ErrorCode::Io,
                         fmt::format("cannot start '{}', which should be next to this program: {}",
                                     guard_program(), std::strerror(failure))};
  }
  child->input = std::move(streams.in.write_end);
  child->output = std::move(streams.out.read_end);
  child->errors = std::move(streams.err.read_end);
  for (const UniqueFd* end : {&child->input, &child->output, &child->errors}) {
    set_nonblocking(end->get());
  }
  return child;
}

ChildProcess::~ChildProcess() {
  if (guard_ < 0) return;
  kill_all();
  const auto reaped_within = [this](std::chrono::milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!try_reap()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  };
  if (reaped_within(kGuardExitLimit)) return;
  // The program is in an uninterruptible driver call, or it has stopped its guard. Its SIGKILL is
  // pending, or follows when the guard ends.
  {
    const std::lock_guard lock(mutex_);
    if (!reaped_) ::kill(guard_, SIGKILL);
  }
  reaped_within(kGuardExitLimit);
}

void ChildProcess::read_report() const {
  GuardReport report;
  while (::recv(channel_.get(), &report, sizeof report, 0) == sizeof report) {
    pid_ = report.pid;
    failure_ = report.error;
  }
}

pid_t ChildProcess::pid() const {
  const std::lock_guard lock(mutex_);
  read_report();
  return pid_;
}

void ChildProcess::kill_all() {
  const std::lock_guard lock(mutex_);
  if (reaped_) return;
  read_report();
  ::shutdown(channel_.get(), SHUT_RDWR);
  ::kill(guard_, SIGCONT);  // a hostile program may have stopped it
}

std::optional<std::string> ChildProcess::try_reap() {
  std::string end;
  {
    const std::lock_guard lock(mutex_);
    if (reaped_) return end_;
    read_report();
    siginfo_t ended{};
    if (::waitid(P_PID, static_cast<id_t>(guard_), &ended, WEXITED | WNOHANG) != 0 ||
        ended.si_pid == 0) {
      return std::nullopt;
    }
    reaped_ = true;
    read_report();  // written before the guard ended, perhaps after the check above
    end = failure_ != 0 ? fmt::format("cannot start '{}': {}", engine::shown_path(program_),
                                      engine::path_error_text(program_, failure_))
          : ended.si_code == CLD_EXITED ? fmt::format("exited with code {}", ended.si_status)
                                        : fmt::format("killed by signal {}", ended.si_status);
  }
  // Nothing is left below a guard that ended by itself. Of one that was killed, the descendants are
  // this process's children by now. Without the lock: nobody else may wait for them.
  if (!end_orphans(kOrphanLimit)) {
    end +=
        fmt::format("; processes that it had started still ran {} s later", kOrphanLimit.count());
  }
  const std::lock_guard lock(mutex_);
  end_ = std::move(end);
  return end_;
}

}  // namespace app
