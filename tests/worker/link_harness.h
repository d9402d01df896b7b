// Waits on a link with a deadline, so that a link that never answers fails a test instead of
// hanging it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/protocol/worker_link.h"
#include "tests/support/patience.h"

namespace app::testing {

using Clock = std::chrono::steady_clock;

class LinkHarness {
 public:
  /// `remote`: as if the worker were on another machine.
  explicit LinkHarness(std::vector<std::string> argv, double progress_stall_seconds = 0,
                       bool remote = false) {
    link_ = WorkerLink::start({.argv = std::move(argv),
                               .wake =
                                   [this] {
                                     const std::lock_guard lock(mutex_);
                                     ++wakes_;
                                     changed_.notify_all();
                                   },
                               .progress_stall_seconds = progress_stall_seconds,
                               .remote = remote});
  }

  WorkerLink& operator*() { return *link_; }
  WorkerLink* operator->() { return link_.get(); }
  void destroy() { link_.reset(); }
  int wakes() const {
    const std::lock_guard lock(mutex_);
    return wakes_;
  }
  const std::vector<LinkEvent>& events() const { return events_; }

  /// Collects events until `done` is true; false when time is up.
  bool wait(const std::function<bool()>& done,
            std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    const Clock::time_point deadline = Clock::now() + limit * tests::patience();
    while (true) {
      for (LinkEvent& event : link_->poll()) events_.push_back(std::move(event));
      if (done()) return true;
      if (Clock::now() > deadline) return false;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(10));
    }
  }
  bool wait_for_state(LinkState state, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    return wait([&] { return link_->status().state == state; }, limit);
  }
  bool wait_for_answer(std::uint64_t id) {
    return wait([&] { return find<RunDone>(id) != nullptr || failure(id) != nullptr; });
  }

  template <class Event>
  const Event* find_any() const {
    for (const LinkEvent& event : events_) {
      if (const auto* one = std::get_if<Event>(&event)) return one;
    }
    return nullptr;
  }
  template <class Done>
  const Done* find(std::uint64_t id) const {
    for (const LinkEvent& event : events_) {
      if (const auto* one = std::get_if<Done>(&event); one != nullptr && one->result.id == id) {
        return one;
      }
    }
    return nullptr;
  }
  const RunError* failure(std::uint64_t id) const {
    for (const LinkEvent& event : events_) {
      if (const auto* one = std::get_if<RunError>(&event); one != nullptr && one->id == id) {
        return one;
      }
    }
    return nullptr;
  }
  std::size_t answers() const {
    std::size_t count = 0;
    for (const LinkEvent& event : events_) {
      count += std::holds_alternative<RunDone>(event) || std::holds_alternative<RunError>(event);
    }
    return count;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int wakes_ = 0;
  std::vector<LinkEvent> events_;
  std::unique_ptr<WorkerLink> link_;  // last: its threads wake this object until it is gone
};

/// Returns the seconds that `work` takes.
inline double seconds_of(const std::function<void()>& work) {
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace app::testing
