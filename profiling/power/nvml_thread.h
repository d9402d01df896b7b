// A thread that queries NVML. A query to a stuck driver may never return, so the thread is
// abandoned if it does not end soon after a stop request.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "engine/model/guarded_thread.h"

namespace profiling {

class NvmlThread {
 public:
  /// Shared by the thread and its owner; outlives the owner if the thread is abandoned.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool stop = false;   // stop requested
    bool ended = false;  // it no longer touches anything
  };

  /// `body` returns soon after `shared->stop`, unless it is blocked in NVML.
  NvmlThread(std::shared_ptr<Shared> shared, std::function<void()> body);
  /// Waits at most one second.
  ~NvmlThread();
  NvmlThread(const NvmlThread&) = delete;
  NvmlThread& operator=(const NvmlThread&) = delete;

 private:
  std::shared_ptr<Shared> shared_;
  engine::GuardedThread thread_;
};

}  // namespace profiling
