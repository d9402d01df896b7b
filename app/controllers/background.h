// Work off the window's thread. BackgroundTask: reads and derivations; only the newest counts.
// WriteQueue: writes; all of them, in order. made_at_once(): what is too small for a thread. An
// exception in the work becomes the error of its result and never leaves a thread. Threads are
// joined only when the window closes.
#pragma once

#include <atomic>
#include <concepts>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/guarded_thread.h"

namespace app {

/// Failures of work whose result type holds no error; the window shows them. Any thread.
class BackgroundFailures {
 public:
  static void add(std::string what) {
    const std::lock_guard lock(mutex_);
    failures_.push_back(std::move(what));
  }
  static std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(failures_, {});
  }

 private:
  inline static std::mutex mutex_;
  inline static std::vector<std::string> failures_;
};

/// What `make` returns. An exception is reported as one of a BackgroundTask is, and nothing is
/// returned: whatever is derived on the window's own thread from what a worker sent is made here.
template <class Make>
auto made_at_once(Make&& make) -> std::optional<decltype(make())> {
  try {
    return make();
  } catch (...) {
    BackgroundFailures::add(engine::caught_error().message);
    return std::nullopt;
  }
}

/// Changes a model of what is on screen. False where that failed: half a change must not be drawn,
/// so the model is then as new.
template <class Model, class Change>
bool changed_at_once(Model& model, Change&& change) {
  const bool changed = made_at_once([&] {
                         change(model);
                         return true;
                       }).has_value();
  if (!changed) model = Model();
  return changed;
}

template <class T>
class BackgroundTask {
 public:
  explicit BackgroundTask(std::function<void()> wake) : wake_(std::move(wake)) {}
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;

  void start(std::function<T()> work) {
    // Only threads that have ended are joined here; another could wait for a slow disk.
    std::erase_if(threads_, [](const Worker& worker) { return worker.ended->load(); });
    slot_ = std::make_shared<Slot>();
    auto ended = std::make_shared<std::atomic<bool>>(false);
    engine::GuardedThread thread(
        [slot = slot_, ended, work = std::move(work), wake = wake_]() mutable {
          slot->put(work());
          // Freed on this thread: freeing gigabytes would hold up a frame.
          slot.reset();
          work = nullptr;
          wake();
          ended->store(true);
        },
        [slot = std::weak_ptr(slot_), ended, wake = wake_](const engine::Error& error) {
          if (const std::shared_ptr<Slot> wanted = slot.lock()) wanted->fail(error);
          wake();
          ended->store(true);
        });
    threads_.push_back({.ended = std::move(ended), .thread = std::move(thread)});
  }

  /// The result is no longer wanted.
  void drop() { slot_.reset(); }

  bool running() const { return slot_ != nullptr; }

  /// The result, once. Work that threw has none unless T can hold an error.
  std::optional<T> take() {
    if (slot_ == nullptr) return std::nullopt;
    std::optional<T> result;
    bool ended = false;
    {
      const std::lock_guard lock(slot_->mutex);
      result = std::move(slot_->result);
      slot_->result.reset();
      ended = slot_->ended;
    }
    if (ended) slot_.reset();
    return result;
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::optional<T> result;
    bool ended = false;

    void put(T made) {
      const std::lock_guard lock(mutex);
      result = std::move(made);
      ended = true;
    }
    void fail(const engine::Error& error) {
      if constexpr (std::constructible_from<T, engine::Error>) {
        put(T(error));
      } else {
        BackgroundFailures::add(error.message);
        const std::lock_guard lock(mutex);
        ended = true;
      }
    }
  };
  struct Worker {
    std::shared_ptr<std::atomic<bool>> ended;
    engine::GuardedThread thread;
  };
  std::function<void()> wake_;
  std::shared_ptr<Slot> slot_;
  std::vector<Worker> threads_;
};

class WriteQueue {
 public:
  /// What was done, as a sentence.
  struct Done {
    std::string text;
    bool small = false;  // for the status bar only: written while the user types
  };
  using Outcome = engine::Result<Done>;

  explicit WriteQueue(std::function<void()> wake) : wake_(std::move(wake)) {}
  /// Finishes every pending write.
  ~WriteQueue() {
    {
      const std::lock_guard lock(mutex_);
      finishing_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  void put(std::function<Outcome()> work) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(work));
    }
    if (thread_.started()) return changed_.notify_one();
    thread_ = engine::GuardedThread([this] { write_all(); },
                                    [this](const engine::Error& error) { fail_all(error); });
  }

  /// Outcomes in order, each once.
  std::optional<Outcome> take() {
    const std::lock_guard lock(mutex_);
    if (outcomes_.empty()) return std::nullopt;
    Outcome first = std::move(outcomes_.front());
    outcomes_.pop_front();
    return first;
  }

 private:
  void write_all() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return finishing_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::function<Outcome()> work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      Outcome outcome = engine::guarded(work);
      work = nullptr;
      lock.lock();
      outcomes_.push_back(std::move(outcome));
      lock.unlock();
      wake_();
      lock.lock();
    }
  }
  /// No thread could be started: nothing may wait for it.
  void fail_all(const engine::Error& error) {
    {
      const std::lock_guard lock(mutex_);
      for (; !waiting_.empty(); waiting_.pop_front()) outcomes_.emplace_back(error);
    }
    wake_();
  }

  const std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<Outcome()>> waiting_;
  std::deque<Outcome> outcomes_;
  bool finishing_ = false;
  engine::GuardedThread thread_;  // started by the first piece
};

}  // namespace app
