#include "app/worker/order_slot.h"

namespace app {

std::optional<std::uint64_t> OrderSlot::put(Order order) {
  std::optional<std::uint64_t> replaced;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_) replaced = waiting_->id;
    waiting_ = std::move(order);
    // Under the lock: wait_next() clears the flag for the next order under the same lock.
    if (progress_.request_id != 0) progress_.cancel = true;
  }
  changed_.notify_one();
  return replaced;
}

std::optional<std::uint64_t> OrderSlot::cancel() {
  const std::lock_guard lock(mutex_);
  std::optional<std::uint64_t> dropped;
  if (waiting_) dropped = waiting_->id;
  waiting_.reset();
  if (progress_.request_id != 0) progress_.cancel = true;
  return dropped;
}

std::optional<Order> OrderSlot::wait_next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || waiting_.has_value(); });
  if (closed_) return std::nullopt;
  std::optional<Order> next = std::exchange(waiting_, std::nullopt);
  progress_.cancel = false;
  progress_.stage = static_cast<int>(engine::Stage::Other);
  progress_.iteration = -1;
  progress_.iterations = 0;
  progress_.expert = -1;
  progress_.fraction = 0.0;
  progress_.request_id = next->id;
  return next;
}

void OrderSlot::finished() {
  const std::lock_guard lock(mutex_);
  progress_.request_id = 0;
}

void OrderSlot::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    progress_.cancel = true;
  }
  changed_.notify_all();
}

}  // namespace app
