#include "app/worker/launch_guard.h"

#include <chrono>
#include <utility>

namespace app {
namespace {

constexpr std::chrono::milliseconds kPeriod{50};

}  // namespace

LaunchGuard::~LaunchGuard() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stopped_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LaunchGuard::watch(Told told) {
  const std::lock_guard lock(mutex_);
  told_ = std::move(told);
  if (!thread_.joinable()) thread_ = std::thread([this] { look_until_stopped(); });
}

void LaunchGuard::look_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    const Told told = told_;
    lock.unlock();
    clock_.report_if_late(told);
    lock.lock();
    stopped_changed_.wait_for(lock, kPeriod, [this] { return stopped_; });
  }
}

}  // namespace app
