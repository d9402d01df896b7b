// What the engine thread does next: one slot, the newest order wins. Putting an order asks the
// running one to stop. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "app/protocol/orders.h"
#include "engine/observe/step_observer.h"

namespace app {

class OrderSlot {
 public:
  explicit OrderSlot(engine::RunProgress& progress) : progress_(progress) {}

  /// Returns the id of a waiting order that this one replaces.
  std::optional<std::uint64_t> put(Order order);
  /// Stops the running order and drops a waiting one, whose id is returned.
  std::optional<std::uint64_t> cancel();
  /// Blocks until there is an order, and marks it as running; nullopt after close().
  std::optional<Order> wait_next();
  /// Call when the running order has been answered.
  void finished();
  void close();

 private:
  engine::RunProgress& progress_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Order> waiting_;
  bool closed_ = false;
};

}  // namespace app
