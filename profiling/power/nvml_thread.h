// A thread that asks NVML questions. One to a stuck driver may not come back, so the thread is left
// behind where it does not end soon after it was told to.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "engine/model/guarded_thread.h"

namespace profiling {

class NvmlThread {
 public:
  /// What the thread and its owner share; outlives the owner where the thread is left behind.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool stop = false;   // told to end
    bool ended = false;  // it will touch nothing any more
  };

  /// `body` returns soon after `shared->stop`, unless NVML holds it.
  NvmlThread(std::shared_ptr<Shared> shared, std::function<void()> body);
  /// Waits for a second at most.
  ~NvmlThread();
  NvmlThread(const NvmlThread&) = delete;
  NvmlThread& operator=(const NvmlThread&) = delete;

 private:
  std::shared_ptr<Shared> shared_;
  engine::GuardedThread thread_;
};

}  // namespace profiling
