// expertscope-guard FOLDER PROGRAM [ARGUMENT...]: runs the program with its own standard streams,
// and ends it with all its descendants when the other end of the channel closes or the program
// ends. It then exits with the program's status, so that its parent sees the same. worker_guard.h
// says why. FOLDER, "-" for none, is removed if the channel closed: its owner may have been killed.
#include "app/protocol/worker_guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "app/protocol/descendants.h"

namespace {

using app::kGuardChannel;

constexpr int kExitWrongCall = 127;
constexpr int kSweepMs = 5;  // between two scans for remaining descendants

void report(pid_t pid, int error) {
  const app::GuardReport said{.pid = pid, .error = error};
  static_cast<void>(::send(kGuardChannel, &said, sizeof said, MSG_NOSIGNAL) < 0);
}

/// Runs in the child of a fork.
[[noreturn]] void become(char** argv, pid_t guard) {
  ::setpgid(0, 0);
  app::mark_for_parent();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != guard) ::_exit(kExitWrongCall);  // the guard died before the line above
  report(::getpid(), 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvp(argv[0], argv);
  report(0, errno);
  ::_exit(kExitWrongCall);
}

/// The standard streams belong to the program alone: its pipes must end with it.
void release_standard_streams() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int stream = 0; stream <= 2; ++stream) ::dup2(null, stream);
  if (null > 2) ::close(null);
}

/// True once the program has ended. It stays a zombie, so that its group id stays taken until the
/// group has been killed; any other child that has ended is reaped.
bool has_ended(pid_t program) {
  while (true) {
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) {
      return false;
    }
    if (ended.si_pid == program) return true;
    ::waitpid(ended.si_pid, nullptr, WNOHANG);
  }
}

/// Kills the program and everything below it until nothing is left; returns the program's wait
/// status.
int end_all(pid_t program) {
  ::kill(-program, SIGKILL);
  int end = 0;
  while (true) {
    int status = 0;
    const pid_t reaped = ::waitpid(-1, &status, WNOHANG);
    if (reaped == program) end = status;
    if (reaped > 0) continue;
    if (reaped < 0 && errno == ECHILD) return end;
    app::kill_descendants();
    ::poll(nullptr, 0, kSweepMs);
  }
}

void remove_folder(const char* folder) {
  std::error_code ignored;
  if (std::strcmp(folder, app::kNoFolder) != 0) std::filesystem::remove_all(folder, ignored);
}

[[noreturn]] void exit_like(int status) {
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  const rlimit none{};
  ::setrlimit(RLIMIT_CORE, &none);  // only the program's own core dump is of interest
  std::signal(number, SIG_DFL);
  sigset_t all;
  sigemptyset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::kill(::getpid(), number);
  ::_exit(128 + number);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || ::fcntl(kGuardChannel, F_SETFD, FD_CLOEXEC) != 0) {
    std::fputs("expertscope-guard is started by expertscope\n", stderr);
    return kExitWrongCall;
  }
  // A descriptor that the parent forgot to mark close-on-exec must not reach the worker.
  ::close_range(kGuardChannel + 1, ~0U, 0);
  app::adopt_orphans();
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
  const int children = ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (children < 0) return kExitWrongCall;

  const pid_t guard = ::getpid();
  const pid_t program = ::fork();
  if (program == 0) become(argv + 2, guard);
  if (program < 0) {
    report(0, errno);
    return kExitWrongCall;
  }
  ::setpgid(program, program);  // set here too: parent and child race
  release_standard_streams();

  bool closed = false;
  while (!closed && !has_ended(program)) {
    pollfd waits[2] = {{children, POLLIN, 0}, {kGuardChannel, POLLIN, 0}};
    ::poll(waits, 2, -1);
    signalfd_siginfo seen;
    while (::read(children, &seen, sizeof seen) > 0) {
    }
    closed = waits[1].revents != 0;  // the guard receives no messages: the other end has closed
  }
  const int status = end_all(program);
  if (closed) remove_folder(argv[1]);
  exit_like(status);
}
