#include "app/worker/launch_guard.h"

#include <chrono>
#include <utility>

#include "app/worker/end_worker.h"

namespace app {
namespace {

constexpr std::chrono::milliseconds kGuardPeriod{50};

}  // namespace

LaunchGuard::~LaunchGuard() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stopped_changed_.notify_all();
  thread_.join();
}

void LaunchGuard::watch(OnBlocked on_blocked) {
  {
    const std::lock_guard lock(mutex_);
    on_blocked_ = std::move(on_blocked);
  }
  if (thread_.started()) return;
  thread_ = engine::GuardedThread([this] { check_until_stopped(); }, end_worker);
}

void LaunchGuard::check_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    const OnBlocked on_blocked = on_blocked_;
    lock.unlock();
    clock_.report_if_late(on_blocked);
    lock.lock();
    stopped_changed_.wait_for(lock, kGuardPeriod, [this] { return stopped_; });
  }
}

}  // namespace app
