// Which value is sent in which message, and back. The reader trusts nothing:
// app/protocol/wire_fields.h refuses what a value cannot hold, engine::validate what it must not
// hold; both name the field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "app/protocol/framing.h"
#include "app/protocol/orders.h"
#include "app/protocol/wire_fields.h"
#include "app/protocol/worker_link.h"
#include "engine/model/error.h"

namespace app {

template <class V, class M>
struct Travels {
  using Value = V;
  using Message = M;
  static Message in(const Value*);
  static Value out(const Message*);
};

template <class... Pair>
struct TravelList : Pair... {
  using Pair::in...;
  using Pair::out...;
};

/// Further parts of orders and answers, found by their names.
using Travelling = TravelList<
    Travels<engine::RunRequest, wire::RunRequest>, Travels<engine::RunResult, wire::RunResult>,
    Travels<engine::RecipeComparison, wire::RecipeComparison>,
    Travels<WorkerHello, wire::WorkerHello>, Travels<PulseReport, wire::PulseReport>,
    Travels<FileQuestion, wire::FileQuestion>, Travels<FileReport, wire::FileReport>,
    Travels<profiling::PowerTrace, wire::PowerTrace>, Travels<profiling::Snapshot, wire::Snapshot>>;

template <class Value>
using MessageOf = decltype(Travelling::in(static_cast<const Value*>(nullptr)));
template <class Message>
using ValueOf = decltype(Travelling::out(static_cast<const Message*>(nullptr)));

template <class Value>
MessageOf<Value> to_wire(const Value& value) {
  MessageOf<Value> message;
  write_fields(engine::kType<Value>, &value, message);
  return message;
}

/// Absent fields keep the defaults of the value. Returns Protocol where the message holds no such
/// value, InvalidArgument where the value exceeds its limits.
template <class Message>
engine::Result<ValueOf<Message>> from_wire(const Message& message) {
  ValueOf<Message> value;
  const engine::Type& type = engine::kType<ValueOf<Message>>;
  ENGINE_TRY(read_fields(type, &value, message));
  ENGINE_TRY(engine::validate(value));
  return value;
}

wire::Order to_wire(const Order& order);
/// An error begins with the path in the task: "shape.rows is ...".
engine::Result<Order> from_wire(const wire::Order& message);

/// The answer to the order of this id.
wire::Answer to_wire(std::uint64_t id, const Answer& answer);
/// Without the id. An error begins with the name of the answer.
engine::Result<Answer> from_wire(const wire::Answer& message);

/// The kind of order that an answer belongs to; TASK_NOT_SET = any.
constexpr wire::Order::TaskCase order_of(wire::Answer::ResultCase answer) {
  return static_cast<wire::Order::TaskCase>(answer - answer % 10);
}
/// The last frame of its order.
constexpr bool is_last(wire::Answer::ResultCase answer) {
  return answer % 10 == 0 || answer == wire::Answer::kFailed;
}

inline constexpr std::size_t kMaxChunkRecords = 65536;
inline constexpr std::size_t kMaxActivityRecords = 20'000'000;

/// A run may have millions of records, which do not fit in one frame: its activity is sent in
/// chunks, which begin at every multiple of kMaxChunkRecords below this, the length of the longest
/// list.
std::size_t chunked_length(const profiling::Activity& activity);
/// Records, host events and memory events [first, first + kMaxChunkRecords). The chunk that starts
/// at 0 also has all names and graph nodes.
profiling::Activity activity_chunk(const profiling::Activity& activity, std::size_t first);

/// Reassembles the chunks of one run.
class ActivityAssembler {
 public:
  /// Whether the chunk may be added, by its lengths alone: before its values take any memory.
  engine::Status admit(std::uint64_t id, const wire::Activity& chunk) const;
  engine::Status add(std::uint64_t id, profiling::Activity chunk);
  /// What has arrived for this run; empty if everything that arrived belongs to another run.
  profiling::Activity take(std::uint64_t id);
  /// What has arrived for this run is not wanted.
  void drop(std::uint64_t id) {
    if (id == id_) activity_ = {};
  }

 private:
  std::uint64_t id_ = 0;
  profiling::Activity activity_;
};

}  // namespace app
