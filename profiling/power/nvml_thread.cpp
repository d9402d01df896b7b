#include "profiling/power/nvml_thread.h"

#include <chrono>
#include <utility>

namespace profiling {
namespace {

constexpr std::chrono::seconds kLastAnswer{1};  // grace period for a thread to end

}  // namespace

NvmlThread::NvmlThread(std::shared_ptr<Shared> shared, std::function<void()> body)
    : shared_(std::move(shared)) {
  const auto end = [shared = shared_] {
    const std::lock_guard lock(shared->mutex);
    shared->ended = true;
    shared->changed.notify_all();
  };
  thread_ = engine::GuardedThread(
      [body = std::move(body), end] {
        body();
        end();
      },
      [end](const engine::Error&) { end(); });  // no news from NVML any more: it is late
}

NvmlThread::~NvmlThread() {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
  const bool ended =
      shared_->changed.wait_for(lock, kLastAnswer, [this] { return shared_->ended; });
  lock.unlock();
  if (ended) {
    thread_.join();
  } else {
    thread_.leave_behind();
  }
}

}  // namespace profiling
