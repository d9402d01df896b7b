// A link's outstanding orders: commands not yet sent, orders not yet answered, and the frames that
// these entitle the worker to send. Not thread-safe: the link's lock guards it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "app/protocol/framing.h"
#include "engine/model/error.h"

namespace app {

/// One slot per kind of command, and one for questions about folders; the newest wins.
class UnsentCommands {
 public:
  /// Returns the id of the order that this one replaces.
  std::optional<std::uint64_t> put_order(wire::Frame frame);
  std::optional<std::uint64_t> drop_order();
  void put_cancel() { cancel_ = true; }
  void put_inspection(wire::FileQuestion question) {
    (question.has_folder() ? folder_ : inspection_) = std::move(question);
  }
  void put_watch(bool on) { watch_ = on; }
  void put_ping(std::uint64_t number) { ping_ = number; }

  bool empty() const {
    return !cancel_ && !order_ && !inspection_ && !folder_ && !watch_ && !ping_;
  }
  /// The next to send. A cancel goes before an order: it was meant for an older one.
  std::optional<wire::Frame> take();

 private:
  bool cancel_ = false;
  std::optional<wire::Frame> order_;
  std::optional<wire::FileQuestion> inspection_;
  std::optional<wire::FileQuestion> folder_;
  std::optional<bool> watch_;
  std::optional<std::uint64_t> ping_;
};

/// A cancelled run checks its flag between stages; one that does not within this time is stuck.
inline constexpr std::chrono::seconds kCancelLimit{2};
/// Limit on a frame that was not ordered: greetings and pulses are a few KiB.
inline constexpr std::size_t kMaxUnorderedBytes = std::size_t{4} << 20;
/// Limit on everything that belongs to one run: 20 million records and their graph.
inline constexpr std::size_t kMaxRunBytes = std::size_t{1} << 30;

/// An answer to an order that was not given is never kept.
class OpenOrders {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void given(const wire::Order& order);
  /// The command (an order or an inspection) is on its way to the worker.
  void sent(const wire::Frame& command);
  /// The order was never sent and is answered without the worker.
  void withdrawn(std::uint64_t id) { close(id); }
  /// The worker is lost: no answers are expected any more.
  void clear();

  /// Checks that the frame is an expected answer; the error names what is not.
  engine::Status check(const wire::Frame& frame, std::size_t bytes);
  /// The order is closed; 0 = no order.
  void answered(std::uint64_t id) { close(id); }

  bool empty() const { return orders_.empty(); }
  /// Frames above kMaxUnorderedBytes may come.
  bool expects_large() const { return !orders_.empty() || inspections_ > 0; }

  /// Everything open now should end; a second cancel does not restart the clock.
  void cancelled(Time now);
  /// kCancelLimit has passed and some of it is still open.
  bool cancel_overdue(Time now) const;

 private:
  struct OpenOrder {
    wire::Order::TaskCase kind = wire::Order::TASK_NOT_SET;
    bool sent = false;
    std::size_t bytes = 0;  // of its records so far
  };
  struct Cancel {
    Time at;
    std::uint64_t newest = 0;  // the newest order at the time it was sent
  };
  engine::Status check_answer(const wire::Answer& answer, std::size_t bytes);
  void close(std::uint64_t id);

  std::map<std::uint64_t, OpenOrder> orders_;
  int inspections_ = 0;
  bool greeted_ = false;
  std::optional<Cancel> cancel_;
};

}  // namespace app
