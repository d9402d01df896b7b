// File work and derivations off the window's thread. BackgroundTask: reads, of which only the
// newest asked for counts. WriteQueue: writes, all of them, in the order in which they were asked
// for. Whatever a thread's work throws ends that work, never the program. Threads are waited for
// only when the window closes.
#pragma once

#include <atomic>
#include <concepts>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/model/error.h"

namespace app {

/// Of work whose result cannot say that it failed; the window shows them. Any thread.
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

/// To be called in a catch block.
inline engine::Error background_error() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {engine::ErrorCode::OutOfMemory, "there is not enough memory for it"};
  } catch (const std::exception& thrown) {
    return {engine::ErrorCode::Internal, thrown.what()};
  } catch (...) {
    return {engine::ErrorCode::Internal, "unknown failure"};
  }
}

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
    try {
      std::thread thread([slot = slot_, ended, work = std::move(work), wake = wake_]() mutable {
        slot->run(work);
        // What nobody wants any more is freed here: gigabytes would hold up a frame.
        slot.reset();
        work = nullptr;
        wake();
        ended->store(true);
      });
      threads_.push_back({.thread = std::move(thread), .ended = std::move(ended)});
    } catch (...) {  // no thread to be had
      slot_->fail(background_error());
    }
  }

  /// Nobody wants the result any more.
  void drop() { slot_.reset(); }

  bool running() const { return slot_ != nullptr; }

  /// The result, once. Nothing, ever, of work that threw, unless T can hold an error.
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

    void run(const std::function<T()>& work) {
      try {
        T made = work();
        const std::lock_guard lock(mutex);
        result = std::move(made);
        ended = true;
      } catch (...) {
        fail(background_error());
      }
    }
    void fail(engine::Error error) {
      if constexpr (std::constructible_from<T, engine::Error>) {
        const std::lock_guard lock(mutex);
        result = T(std::move(error));
        ended = true;
      } else {
        BackgroundFailures::add(std::move(error.message));
        const std::lock_guard lock(mutex);
        ended = true;
      }
    }
  };
  struct Worker {
    std::thread thread;
    std::shared_ptr<std::atomic<bool>> ended;
  };
  std::function<void()> wake_;
  std::shared_ptr<Slot> slot_;
  std::vector<Worker> threads_;
};

class WriteQueue {
 public:
  /// What became of one piece: a sentence for the status bar, or why not.
  using Outcome = engine::Result<std::string>;

  explicit WriteQueue(std::function<void()> wake) : wake_(std::move(wake)) {}
  /// Writes what was asked for.
  ~WriteQueue() {
    {
      const std::lock_guard lock(mutex_);
      finishing_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  void put(std::function<Outcome()> work) {
    const std::lock_guard lock(mutex_);
    try {
      if (!thread_.joinable()) thread_ = std::thread([this] { write_all(); });
    } catch (...) {
      outcomes_.emplace_back(background_error());
      return;
    }
    waiting_.push_back(std::move(work));
    changed_.notify_one();
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
      Outcome outcome = [&]() -> Outcome {
        try {
          return work();
        } catch (...) {
          return background_error();
        }
      }();
      work = nullptr;
      lock.lock();
      outcomes_.push_back(std::move(outcome));
      lock.unlock();
      wake_();
      lock.lock();
    }
  }

  const std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<Outcome()>> waiting_;
  std::deque<Outcome> outcomes_;
  bool finishing_ = false;
  std::thread thread_;  // started by the first piece
};

}  // namespace app
