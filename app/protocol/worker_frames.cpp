#include "app/protocol/worker_frames.h"

#include <fmt/format.h>
#include <google/protobuf/message.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "app/protocol/convert_bench.h"
#include "app/protocol/convert_doctor.h"
#include "app/protocol/convert_measurement.h"
#include "engine/model/text.h"

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

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// The fields of each kind of message that are texts or lead to one. Large messages (records,
/// histograms) have none and are not walked.
class TextFields {
 public:
  const std::vector<const FieldDescriptor*>& of(const Descriptor& type) const {
    return fields_.at(&type);
  }
  static const TextFields& all() {
    static const TextFields fields;
    return fields;
  }

 private:
  TextFields() { visit(*wire::Frame::descriptor()); }

  /// No message of the protocol holds itself, so this ends.
  bool visit(const Descriptor& type) {
    if (const auto known = fields_.find(&type); known != fields_.end()) {
      return !known->second.empty();
    }
    std::vector<const FieldDescriptor*> fields;
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      const bool text = field.type() == FieldDescriptor::TYPE_STRING;
      const bool message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
      if (text || (message && visit(*field.message_type()))) fields.push_back(&field);
    }
    return !fields_.emplace(&type, std::move(fields)).first->second.empty();
  }

  std::unordered_map<const Descriptor*, std::vector<const FieldDescriptor*>> fields_;
};

}  // namespace

void show_texts(Message& message) {
  const auto& access = *message.GetReflection();
  for (const FieldDescriptor* field : TextFields::all().of(*message.GetDescriptor())) {
    const bool text = field->type() == FieldDescriptor::TYPE_STRING;
    std::string scratch;
    if (field->is_repeated()) {
      for (int i = 0; i < access.FieldSize(message, field); ++i) {
        if (!text) {
          show_texts(*access.MutableRepeatedMessage(&message, field, i));
          continue;
        }
        const std::string& value = access.GetRepeatedStringReference(message, field, i, &scratch);
        if (engine::is_shown_text(value)) continue;
        access.SetRepeatedString(&message, field, i, engine::shown_text(value));
      }
    } else if (access.HasField(message, field)) {
      if (!text) {
        show_texts(*access.MutableMessage(&message, field));
        continue;
      }
      const std::string& value = access.GetStringReference(message, field, &scratch);
      if (engine::is_shown_text(value)) continue;
      access.SetString(&message, field, engine::shown_text(value));
    }
  }
}

engine::Result<Arrival> WorkerFrames::read(wire::Frame frame) {
  show_texts(frame);
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
