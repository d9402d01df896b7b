#include "app/protocol/open_orders.h"

#include <fmt/format.h>

#include <utility>

#include "app/protocol/convert.h"
#include "engine/model/text.h"

namespace app {
namespace {

engine::Error violation(std::string what) { return {engine::ErrorCode::Protocol, std::move(what)}; }

/// The name of a message's field, for an error.
std::string name_of(const google::protobuf::Descriptor& message, int number) {
  const auto* field = message.FindFieldByNumber(number);
  return field == nullptr ? "unknown" : std::string(field->name());
}

}  // namespace

std::optional<std::uint64_t> UnsentCommands::put_order(wire::Frame frame) {
  const std::optional<std::uint64_t> replaced = drop_order();
  order_ = std::move(frame);
  return replaced;
}

std::optional<std::uint64_t> UnsentCommands::drop_order() {
  if (!order_) return std::nullopt;
  return std::exchange(order_, std::nullopt)->order().id();
}

std::optional<wire::Frame> UnsentCommands::take() {
  wire::Frame frame;
  if (std::exchange(cancel_, false)) {
    frame.mutable_cancel();
  } else if (order_) {
    return std::exchange(order_, std::nullopt);
  } else if (inspection_) {
    *frame.mutable_inspect_file() = *std::exchange(inspection_, std::nullopt);
  } else if (folder_) {
    *frame.mutable_inspect_file() = *std::exchange(folder_, std::nullopt);
  } else if (watch_) {
    frame.mutable_watch_device()->set_on(*std::exchange(watch_, std::nullopt));
  } else if (ping_) {
    frame.mutable_ping()->set_number(*std::exchange(ping_, std::nullopt));
  } else {
    return std::nullopt;
  }
  return frame;
}

void OpenOrders::given(const wire::Order& order) {
  orders_[order.id()] = {.kind = order.task_case()};
}

void OpenOrders::sent(const wire::Frame& command) {
  if (command.has_inspect_file()) ++inspections_;
  if (!command.has_order()) return;
  const auto found = orders_.find(command.order().id());
  if (found != orders_.end()) found->second.sent = true;
}

void OpenOrders::clear() {
  orders_.clear();
  cancel_.reset();
}

engine::Status OpenOrders::check(const wire::Frame& frame, std::size_t bytes) {
  switch (frame.body_case()) {
    case wire::Frame::kHelloReply:
      if (std::exchange(greeted_, true)) return violation("greeted a second time");
      return {};
    case wire::Frame::kPulse:
      if (bytes <= kMaxUnorderedBytes) return {};
      return violation(
          fmt::format("sent a pulse of {} bytes; the limit is {}", bytes, kMaxUnorderedBytes));
    case wire::Frame::kFileInspected:
      if (inspections_ == 0) return violation("described a file that was not asked about");
      --inspections_;
      return {};
    case wire::Frame::kAnswer:
      return check_answer(frame.answer(), bytes);
    default:
      return {};  // of the wrong direction: WorkerFrames refuses it
  }
}

engine::Status OpenOrders::check_answer(const wire::Answer& answer, std::size_t bytes) {
  const auto kind = answer.result_case();
  const auto name = [&] { return name_of(*wire::Answer::descriptor(), kind); };
  const auto found = orders_.find(answer.id());
  if (found == orders_.end() || !found->second.sent) {
    return violation(fmt::format("sent an answer of kind {} to order {}, which it does not have",
                                 name(), answer.id()));
  }
  OpenOrder& order = found->second;
  if (order_of(kind) != wire::Order::TASK_NOT_SET && order_of(kind) != order.kind) {
    return violation(fmt::format("answered order {} of kind {} with one of kind {}", answer.id(),
                                 name_of(*wire::Order::descriptor(), order.kind), name()));
  }
  if (kind == wire::Answer::kActivity && (order.bytes += bytes) > kMaxRunBytes) {
    return violation(
        fmt::format("sent more than {} MiB of records for one run", kMaxRunBytes >> 20));
  }
  return {};
}

void OpenOrders::close(std::uint64_t id) {
  orders_.erase(id);
  const bool done = cancel_ && (orders_.empty() || orders_.begin()->first > cancel_->newest);
  if (done) cancel_.reset();
}

void OpenOrders::cancelled(Time now) {
  if (!orders_.empty() && !cancel_) cancel_ = {.at = now, .newest = orders_.rbegin()->first};
}

bool OpenOrders::cancel_overdue(Time now) const {
  return cancel_ && now - cancel_->at > kCancelLimit;
}

}  // namespace app
