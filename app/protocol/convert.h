// Which value travels in which message, and back. The reading side trusts nothing:
// app/protocol/wire_fields.h refuses what no value can hold, engine::validate what a value must not
// hold; both name the field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "app/protocol/wire.h"
#include "app/protocol/wire_fields.h"
#include "app/protocol/worker_link.h"
#include "engine/model/amax_history.h"
#include "engine/model/bench_order.h"
#include "engine/model/error.h"
#include "engine/model/recipe_comparison.h"
#include "engine/model/run_request.h"
#include "engine/model/run_result.h"
#include "profiling/trace/activity.h"

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

/// Fields of a message that no value has (an order's "id") are set and read where the message is
/// sent.
using Travelling = TravelList<
    Travels<engine::RunRequest, wire::RunRequest>, Travels<engine::RunResult, wire::RunResult>,
    Travels<engine::ComparisonRequest, wire::ComparisonRequest>,
    Travels<engine::RecipeComparison, wire::RecipeComparison>,
    Travels<engine::AmaxHistoryRequest, wire::AmaxHistoryRequest>,
    Travels<engine::AmaxHistory, wire::AmaxHistory>,
    Travels<engine::BenchOrder, wire::BenchCommand>, Travels<BenchStart, wire::BenchStarted>,
    Travels<BenchRowReport, wire::BenchRowReport>, Travels<LinearRowReport, wire::LinearRowReport>,
    Travels<DoctorOrder, wire::DoctorCommand>, Travels<DoctorDone, wire::DoctorReply>,
    Travels<QuantizeOrder, wire::QuantizeCommand>, Travels<QuantizeDone, wire::QuantizeFinished>,
    Travels<WorkerHello, wire::HelloReply>, Travels<PulseReport, wire::Pulse>,
    Travels<RunError, wire::RunFailed>, Travels<FileReport, wire::FileInspected>,
    Travels<profiling::Snapshot, wire::Snapshot>, Travels<profiling::PowerTrace, wire::PowerTrace>,
    Travels<profiling::Activity, wire::ActivityChunk>>;

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
  if (engine::Status read = read_fields(type, &value, message); !read.ok()) return read.error();
  if (engine::Status limits = engine::validate(value); !limits.ok()) return limits.error();
  return value;
}

inline constexpr std::size_t kMaxChunkRecords = 65536;
inline constexpr std::size_t kMaxActivityRecords = 20'000'000;

/// Chunks begin at every multiple of kMaxChunkRecords below this, the length of the longest list.
std::size_t chunked_length(const profiling::Activity& activity);
/// Records, host events and memory events [first, first + kMaxChunkRecords) of an activity. The
/// chunk that starts at 0 also carries all names and graph nodes.
wire::ActivityChunk make_activity_chunk(std::uint64_t id, const profiling::Activity& activity,
                                        std::size_t first);

/// Reassembles the chunks of one run.
class ActivityAssembler {
 public:
  engine::Status add(const wire::ActivityChunk& chunk);
  /// What has arrived for this run; empty if everything that arrived belongs to another run.
  profiling::Activity take(std::uint64_t id);

 private:
  std::uint64_t id_ = 0;
  profiling::Activity activity_;
};

}  // namespace app
