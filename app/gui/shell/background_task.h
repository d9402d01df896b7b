// One piece of file work off the window's thread; the newest asked for wins, older results are
// dropped. The thread is waited for only when the window closes.
#pragma once

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
    for (std::thread& thread : threads_) thread.join();
  }
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;

  void start(std::function<T()> work) {
    // A few finished threads are kept until the end; joining here could wait for a slow disk.
    slot_ = std::make_shared<Slot>();
    threads_.emplace_back([slot = slot_, work = std::move(work), wake = wake_] {
      T result = work();
      {
        const std::lock_guard lock(slot->mutex);
        slot->result = std::move(result);
      }
      wake();
    });
  }

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
  std::function<void()> wake_;
  std::shared_ptr<Slot> slot_;
  std::vector<std::thread> threads_;
};

}  // namespace app
