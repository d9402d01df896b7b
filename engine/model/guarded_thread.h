// All threads of the program start here. An exception in a thread's work becomes an Error for a
// handler: it neither ends the program nor leaves anyone waiting for the work.
#pragma once

#include <exception>
#include <functional>
#include <new>
#include <thread>

#include "engine/model/error.h"

namespace engine {

/// The current exception as an Error; call it in a catch block.
Error caught_error();

/// What `work` returns (a Result or a Status), or its exception as an Error.
template <class Work>
auto guarded(Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (...) {
    return caught_error();
  }
}

/// Move-only; the destructor joins.
class GuardedThread {
 public:
  GuardedThread() = default;
  /// Runs `work`; `failed` gets its exception, on the same thread. If no thread can be started,
  /// `failed` gets that error before the constructor returns. It must not throw.
  GuardedThread(std::function<void()> work, std::function<void(const Error&)> failed);
  GuardedThread(GuardedThread&& other) noexcept = default;
  GuardedThread& operator=(GuardedThread&& other) noexcept;
  ~GuardedThread() { join(); }

  bool started() const { return thread_.joinable(); }
  void join();
  /// Detaches it: its work may use nothing that is destroyed before the process ends.
  void leave_behind() { thread_.detach(); }

 private:
  std::thread thread_;
};

}  // namespace engine
