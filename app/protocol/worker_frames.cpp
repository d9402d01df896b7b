#include "app/protocol/worker_frames.h"

#include <fmt/format.h>

namespace app {
namespace {

engine::Result<Arrival> read_greeting(const wire::HelloReply& reply) {
  if (!reply.refused().empty()) {
    return engine::Error{engine::ErrorCode::Unsupported, "refused: " + reply.refused()};
  }
  if (reply.protocol_version() != kProtocolVersion) {
    return engine::Error{engine::ErrorCode::Unsupported,
                         fmt::format("speaks protocol version {}; this program needs {}",
                                     reply.protocol_version(), kProtocolVersion)};
  }
  engine::Result<WorkerHello> hello = from_wire(reply);
  if (!hello.ok()) return hello.error();
  return Arrival{.pulse = {}, .event = std::move(hello).value()};
}

/// An event whose message holds all of it. `answered`: the order is over with it.
template <class Message>
engine::Result<Arrival> read_event(const Message& message, std::uint64_t answered = 0) {
  auto event = from_wire(message);
  if (!event.ok()) return event.error();
  return Arrival{.pulse = {}, .event = std::move(event).value(), .answered = answered};
}

engine::Result<Arrival> read_finished(const wire::RunFinished& message,
                                      ActivityAssembler& assembler) {
  engine::Result<engine::RunResult> result = from_wire(message.result());
  if (!result.ok()) return result.error();
  result.value().id = message.id();
  engine::Result<profiling::Snapshot> snapshot = from_wire(message.snapshot());
  if (!snapshot.ok()) return snapshot.error();
  engine::Result<profiling::PowerTrace> power = from_wire(message.power());
  if (!power.ok()) return power.error();
  return Arrival{.pulse = {},
                 .event = RunDone{.result = std::move(result).value(),
                                  .activity = assembler.take(message.id()),
                                  .snapshot = std::move(snapshot).value(),
                                  .power = std::move(power).value()},
                 .answered = message.id()};
}

}  // namespace

engine::Result<Arrival> WorkerFrames::read(const wire::Frame& frame) {
  switch (frame.body_case()) {
    case wire::Frame::kHelloReply:
      return read_greeting(frame.hello_reply());
    case wire::Frame::kPulse: {
      engine::Result<PulseReport> pulse = from_wire(frame.pulse());
      if (!pulse.ok()) return pulse.error();
      return Arrival{.pulse = std::move(pulse).value(), .event = {}};
    }
    case wire::Frame::kActivity: {
      const engine::Status added = assembler_.add(frame.activity());
      if (!added.ok()) return added.error();
      return Arrival{};
    }
    case wire::Frame::kFinished:
      return read_finished(frame.finished(), assembler_);
    case wire::Frame::kFailed:
      return read_event(frame.failed(), frame.failed().id());
    case wire::Frame::kQuantizeFinished:
      return read_event(frame.quantize_finished(), frame.quantize_finished().id());
    case wire::Frame::kComparisonFinished: {
      const std::uint64_t id = frame.comparison_finished().id();
      engine::Result<engine::RecipeComparison> comparison =
          from_wire(frame.comparison_finished().comparison());
      if (!comparison.ok()) return comparison.error();
      comparison.value().id = id;
      return Arrival{.pulse = {},
                     .event = ComparisonDone{.comparison = std::move(comparison).value()},
                     .answered = id};
    }
    case wire::Frame::kHistoryFinished: {
      const std::uint64_t id = frame.history_finished().id();
      engine::Result<engine::AmaxHistory> history = from_wire(frame.history_finished().history());
      if (!history.ok()) return history.error();
      history.value().id = id;
      return Arrival{
          .pulse = {}, .event = HistoryDone{.history = std::move(history).value()}, .answered = id};
    }
    case wire::Frame::kBenchStarted:
      return read_event(frame.bench_started());
    case wire::Frame::kBenchRow:
      return read_event(frame.bench_row());
    case wire::Frame::kLinearBenchRow:
      return read_event(frame.linear_bench_row());
    case wire::Frame::kBenchFinished: {
      const std::uint64_t id = frame.bench_finished().id();
      return Arrival{.pulse = {}, .event = BenchDone{.id = id}, .answered = id};
    }
    case wire::Frame::kDoctorReply:
      return read_event(frame.doctor_reply(), frame.doctor_reply().id());
    case wire::Frame::kFileInspected:
      return read_event(frame.file_inspected());
    default:
      return engine::Error{engine::ErrorCode::Protocol,
                           fmt::format("a frame of kind {} goes to a worker, not from it",
                                       static_cast<int>(frame.body_case()))};
  }
}

}  // namespace app
