// A link for callers that block until it has changed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "app/protocol/worker_link.h"

namespace app {

class WaitingLink {
 public:
  /// `options.wake` is its own.
  explicit WaitingLink(WorkerLink::Options options) {
    options.wake = [this] {
      const std::lock_guard lock(mutex_);
      woken_ = true;
      changed_.notify_all();
    };
    link_ = WorkerLink::start(std::move(options));
  }

  WorkerLink& link() { return *link_; }
  /// Until the link has changed since the last wait, or for this long.
  void wait_for(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [this] { return woken_; });
    woken_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  std::unique_ptr<WorkerLink> link_;  // last: its threads call `wake` until it is gone
};

}  // namespace app
