#include "app/protocol/worker_frames.h"

#include <fmt/format.h>

#include "app/protocol/convert_bench.h"
#include "app/protocol/convert_doctor.h"
#include "app/protocol/convert_measurement.h"

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

}  // namespace

engine::Result<Arrival> WorkerFrames::read(const wire::Frame& frame) {
  switch (frame.body_case()) {
    case wire::Frame::kHelloReply:
      return read_greeting(frame.hello_reply());
    case wire::Frame::kPulse: {
      const engine::Result<PulseReport> pulse = from_wire(frame.pulse());
      if (!pulse.ok()) return pulse.error();
      return Arrival{.pulse = pulse.value(), .event = {}};
    }
    case wire::Frame::kActivity: {
      const engine::Status added = assembler_.add(frame.activity());
      if (!added.ok()) return added.error();
      return Arrival{};
    }
    case wire::Frame::kFinished: {
      const std::uint64_t id = frame.finished().id();
      engine::Result<engine::RunResult> result = from_wire(frame.finished().result());
      if (!result.ok()) return result.error();
      result.value().id = id;
      engine::Result<profiling::Snapshot> snapshot = from_wire(frame.finished().snapshot());
      if (!snapshot.ok()) return snapshot.error();
      engine::Result<profiling::PowerTrace> power = from_wire(frame.finished().power());
      if (!power.ok()) return power.error();
      return Arrival{.pulse = {},
                     .event = RunDone{.result = std::move(result).value(),
                                      .activity = assembler_.take(id),
                                      .snapshot = std::move(snapshot).value(),
                                      .power = std::move(power).value()},
                     .answered = id};
    }
    case wire::Frame::kFailed: {
      engine::Result<RunError> failure = from_wire(frame.failed());
      if (!failure.ok()) return failure.error();
      return Arrival{
          .pulse = {}, .event = std::move(failure).value(), .answered = frame.failed().id()};
    }
    case wire::Frame::kQuantizeFinished: {
      const wire::QuantizeFinished& done = frame.quantize_finished();
      return Arrival{.pulse = {},
                     .event = QuantizeDone{.id = done.id(),
                                           .files = {done.files().begin(), done.files().end()}},
                     .answered = done.id()};
    }
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
      return Arrival{.pulse = {}, .event = from_wire(frame.bench_started())};
    case wire::Frame::kBenchRow: {
      engine::Result<BenchRowReport> row = from_wire(frame.bench_row());
      if (!row.ok()) return row.error();
      return Arrival{.pulse = {}, .event = std::move(row).value()};
    }
    case wire::Frame::kLinearBenchRow: {
      engine::Result<LinearRowReport> row = from_wire(frame.linear_bench_row());
      if (!row.ok()) return row.error();
      return Arrival{.pulse = {}, .event = std::move(row).value()};
    }
    case wire::Frame::kBenchFinished: {
      const std::uint64_t id = frame.bench_finished().id();
      return Arrival{.pulse = {}, .event = BenchDone{.id = id}, .answered = id};
    }
    case wire::Frame::kDoctorReply: {
      engine::Result<DoctorDone> done = from_wire(frame.doctor_reply());
      if (!done.ok()) return done.error();
      const std::uint64_t id = done.value().id;
      return Arrival{.pulse = {}, .event = std::move(done).value(), .answered = id};
    }
    case wire::Frame::kFileInspected:
      return Arrival{.pulse = {}, .event = from_wire(frame.file_inspected())};
    default:
      return engine::Error{engine::ErrorCode::Protocol,
                           fmt::format("a frame of kind {} goes to a worker, not from it",
                                       static_cast<int>(frame.body_case()))};
  }
}

}  // namespace app
