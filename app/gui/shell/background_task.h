// One piece of file work off the window's thread; the newest asked for wins, older results are
// dropped. The thread is waited for only when the window closes.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace app {

template <class T>
class BackgroundTask {
 public:
  explicit BackgroundTask(std::function<void()> wake) : wake_(std::move(wake)) {}
  ~BackgroundTask() {
    for (Worker& worker : threads_) worker.thread.join();
  }
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;

  void start(std::function<T()> work) {
    // Only threads that have ended are joined here; another could wait for a slow disk.
    std::erase_if(threads_, [](Worker& worker) {
      const bool ended = worker.ended->load();
      if (ended) worker.thread.join();
      return ended;
    });
    slot_ = std::make_shared<Slot>();
    auto ended = std::make_shared<std::atomic<bool>>(false);
    std::thread thread([slot = slot_, ended, work = std::move(work), wake = wake_]() mutable {
      T result = work();
      {
        const std::lock_guard lock(slot->mutex);
        slot->result = std::move(result);
      }
      // What nobody wants any more is freed here: gigabytes would hold up a frame.
      slot.reset();
      wake();
      ended->store(true);
    });
    threads_.push_back({.thread = std::move(thread), .ended = std::move(ended)});
  }

  /// Nobody wants the result any more.
  void drop() { slot_.reset(); }

  bool running() const { return slot_ != nullptr; }

  /// The result, once.
  std::optional<T> take() {
    if (slot_ == nullptr) return std::nullopt;
    std::optional<T> result;
    {
      const std::lock_guard lock(slot_->mutex);
      result = std::move(slot_->result);
      slot_->result.reset();
    }
    if (result) slot_.reset();
    return result;
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::optional<T> result;
  };
  struct Worker {
    std::thread thread;
    std::shared_ptr<std::atomic<bool>> ended;
  };
  std::function<void()> wake_;
  std::shared_ptr<Slot> slot_;
  std::vector<Worker> threads_;
};

}  // namespace app
