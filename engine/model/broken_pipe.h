// Writing to a reader that may be gone, in a program that SIGPIPE would end.
#pragma once

#include <signal.h>

#include <ctime>

namespace engine {

/// While it exists, a write of this thread to a closed pipe fails with EPIPE and nothing else.
class NoBrokenPipeSignal {
 public:
  NoBrokenPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipeSignal() {
    constexpr timespec kAtOnce{};
    if (!sigismember(&before_, SIGPIPE)) ::sigtimedwait(&pipe_, nullptr, &kAtOnce);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipeSignal(const NoBrokenPipeSignal&) = delete;
  NoBrokenPipeSignal& operator=(const NoBrokenPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

}  // namespace engine
