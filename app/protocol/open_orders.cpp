#include "app/protocol/open_orders.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace app {
namespace {

using Frame = wire::Frame;

/// Which order a frame from a worker answers.
struct Answer {
  std::uint64_t id = 0;
  Frame::BodyCase order = Frame::BODY_NOT_SET;  // the kind it may answer; not set = any
};

std::optional<Answer> answer_in(const Frame& frame) {
  switch (frame.body_case()) {
    case Frame::kActivity:
      return Answer{.id = frame.activity().id(), .order = Frame::kRun};
    case Frame::kFinished:
      return Answer{.id = frame.finished().id(), .order = Frame::kRun};
    case Frame::kFailed:
      return Answer{.id = frame.failed().id()};
    case Frame::kQuantizeFinished:
      return Answer{.id = frame.quantize_finished().id(), .order = Frame::kQuantize};
    case Frame::kComparisonFinished:
      return Answer{.id = frame.comparison_finished().id(), .order = Frame::kCompare};
    case Frame::kHistoryFinished:
      return Answer{.id = frame.history_finished().id(), .order = Frame::kHistory};
    case Frame::kBenchStarted:
      return Answer{.id = frame.bench_started().id(), .order = Frame::kBench};
    case Frame::kBenchRow:
      return Answer{.id = frame.bench_row().id(), .order = Frame::kBench};
    case Frame::kLinearBenchRow:
      return Answer{.id = frame.linear_bench_row().id(), .order = Frame::kBench};
    case Frame::kBenchFinished:
      return Answer{.id = frame.bench_finished().id(), .order = Frame::kBench};
    case Frame::kDoctorReply:
      return Answer{.id = frame.doctor_reply().id(), .order = Frame::kDoctor};
    default:
      return std::nullopt;
  }
}

std::string name_of(Frame::BodyCase body) {
  const auto* field = Frame::descriptor()->FindFieldByNumber(body);
  return field == nullptr ? "unknown" : std::string(field->name());
}

engine::Error violation(std::string what) { return {engine::ErrorCode::Protocol, std::move(what)}; }

}  // namespace

void OpenOrders::given(std::uint64_t id, Frame::BodyCase kind) { orders_[id].kind = kind; }

void OpenOrders::sent(const Frame& command) {
  if (command.has_inspect_file()) ++inspections_;
  // The writer takes one job at a time and only once: it is the newest of its kind.
  for (auto order = orders_.rbegin(); order != orders_.rend(); ++order) {
    if (order->second.kind != command.body_case()) continue;
    order->second.sent = true;
    return;
  }
}

void OpenOrders::withdrawn(std::uint64_t id) { close(id); }

void OpenOrders::clear() {
  orders_.clear();
  cancel_.reset();
}

engine::Status OpenOrders::check(const Frame& frame, std::size_t bytes) {
  const Frame::BodyCase body = frame.body_case();
  if (body == Frame::kHelloReply) {
    if (std::exchange(greeted_, true)) return violation("greeted a second time");
    return {};
  }
  if (body == Frame::kPulse && bytes > kMaxUnorderedBytes) {
    return violation(
        fmt::format("sent a pulse of {} bytes; the limit is {}", bytes, kMaxUnorderedBytes));
  }
  if (body == Frame::kFileInspected) {
    if (inspections_ == 0) return violation("described a file that was not asked about");
    --inspections_;
    return {};
  }
  const std::optional<Answer> answer = answer_in(frame);
  if (!answer) return {};
  const auto found = orders_.find(answer->id);
  if (found == orders_.end() || !found->second.sent) {
    return violation(fmt::format("sent a frame of kind {} for order {}, which it does not have",
                                 name_of(body), answer->id));
  }
  Order& order = found->second;
  if (answer->order != Frame::BODY_NOT_SET && answer->order != order.kind) {
    return violation(fmt::format("answered order {} of kind {} with a frame of kind {}", answer->id,
                                 name_of(order.kind), name_of(body)));
  }
  if (body == Frame::kActivity && (order.bytes += bytes) > kMaxRunBytes) {
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
