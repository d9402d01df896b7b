#include "app/protocol/worker_frames.h"

#include <fmt/format.h>
#include <google/protobuf/message.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

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

/// The fields of each kind of message that are texts or contain some. Large messages (records,
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

  /// No message of the protocol contains itself, so the recursion ends.
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

/// An event whose message holds all of it. `answered`: this completes the order.
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
