// Where this program starts threads. Whatever a thread's work throws becomes an Error that somebody
// hears, so that it neither ends the program nor leaves whoever waits for the work waiting.
#pragma once

#include <exception>
#include <functional>
#include <new>
#include <thread>

#include "engine/model/error.h"

namespace engine {

/// What is being thrown, as an Error. To be called in a catch block.
Error caught_error();

/// What `work` returns (a Result or a Status), or what it threw.
template <class Work>
auto guarded(Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (...) {
    return caught_error();
  }
}

/// Joins when it goes. Move-only.
class GuardedThread {
 public:
  GuardedThread() = default;
  /// Runs `work`. `failed` gets what it threw, on the same thread; where the system has no thread
  /// left, it gets that before this returns. It must not throw.
  GuardedThread(std::function<void()> work, std::function<void(const Error&)> failed);
  GuardedThread(GuardedThread&& other) noexcept = default;
  GuardedThread& operator=(GuardedThread&& other) noexcept;
  ~GuardedThread() { join(); }

  bool started() const { return thread_.joinable(); }
  void join();
  /// Lets it run on by itself: its work may use nothing that ends before the process does.
  void leave_behind() { thread_.detach(); }

 private:
  std::thread thread_;
};

}  // namespace engine
