// The orders that a worker owes an answer, and what it may say because of them: nobody keeps an
// answer to an order that was not given. Not thread-safe: the link's lock guards it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "app/protocol/wire.h"
#include "engine/model/error.h"

namespace app {

/// A cancelled run looks at its flag between stages; one that does not in so long is stuck.
inline constexpr std::chrono::seconds kCancelLimit{2};
/// Of a frame that nothing was ordered for: greetings and pulses are a few KiB.
inline constexpr std::size_t kMaxUnorderedBytes = std::size_t{4} << 20;
/// Of all that belongs to one run: 20 million records and their graph.
inline constexpr std::size_t kMaxRunBytes = std::size_t{1} << 30;

class OpenOrders {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void given(std::uint64_t id, wire::Frame::BodyCase kind);
  /// It is on its way to the worker: the job, or an inspection.
  void sent(const wire::Frame& command);
  /// Never sent, answered without the worker.
  void withdrawn(std::uint64_t id);
  /// The worker is lost: nothing is owed any more.
  void clear();

  /// What the worker says must be owed; the error names what is not.
  engine::Status check(const wire::Frame& frame, std::size_t bytes);
  /// For good; 0 = no order.
  void answered(std::uint64_t id) { close(id); }

  bool empty() const { return orders_.empty(); }
  /// Frames above kMaxUnorderedBytes may come.
  bool expects_large() const { return !orders_.empty() || inspections_ > 0; }

  /// All that is open now should end; a second cancel does not start the clock again.
  void cancelled(Time now);
  /// The worker has had kCancelLimit and some of it is still open.
  bool cancel_overdue(Time now) const;

 private:
  struct Order {
    wire::Frame::BodyCase kind = wire::Frame::BODY_NOT_SET;
    bool sent = false;
    std::size_t bytes = 0;  // of its answer so far
  };
  struct Cancel {
    Time at;
    std::uint64_t newest = 0;  // order that it was meant for
  };
  void close(std::uint64_t id);

  std::map<std::uint64_t, Order> orders_;
  int inspections_ = 0;
  bool greeted_ = false;
  std::optional<Cancel> cancel_;
};

}  // namespace app
