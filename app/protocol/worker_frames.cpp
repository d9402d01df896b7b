#include "app/protocol/worker_frames.h"

#include <fmt/format.h>
#include <google/protobuf/message.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "app/protocol/protocol_version.h"
#include "engine/model/text.h"
#include "profiling/session/limits.h"

namespace app {
namespace {

engine::Result<Arrival> read_greeting(const wire::HelloReply& reply) {
  if (!reply.refused().empty()) {
    return engine::Error{engine::ErrorCode::Unsupported, "refused: " + reply.refused()};
  }
  if (reply.protocol_version() != protocol_version()) {
    return engine::Error{engine::ErrorCode::Unsupported,
                         fmt::format("speaks protocol version {:08x}; this program needs {:08x}",
                                     reply.protocol_version(), protocol_version())};
  }
  ENGINE_ASSIGN(WorkerHello hello, from_wire(reply.worker()));
  return Arrival{.pulse = {}, .event = std::move(hello)};
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

// The relations between an answer's members, which their ranges do not show: the same as are
// checked of a recording, so that whatever is displayed may index into an answer without further
// checks.

engine::Status check(const RunDone& done) {
  return profiling::check(done.result, done.activity, done.snapshot, done.power);
}
engine::Status check(const RunPreview& preview) {
  return profiling::check(preview.result, {}, {}, preview.power);
}
engine::Status check(const engine::RecipeComparison& comparison) {
  return profiling::check(comparison);
}
engine::Status check(const DoctorDone& done) {
  return profiling::check(done.outcome, done.snapshot);
}
engine::Status check(const RunError& failure) {
  return failure.stalled == nullptr ? engine::Status{} : check(*failure.stalled);
}
template <class Other>
engine::Status check(const Other& /*has no such relations*/) {
  return {};
}

void set_id(RunDone& done, std::uint64_t id) { done.result.id = id; }
void set_id(RunPreview& preview, std::uint64_t id) { preview.result.id = id; }
void set_id(profiling::Activity& /*part of a RunDone*/, std::uint64_t /*id*/) {}
template <class Done>
void set_id(Done& done, std::uint64_t id) {
  done.id = id;
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
      ENGINE_ASSIGN(PulseReport pulse, from_wire(frame.pulse()));
      return Arrival{.pulse = std::move(pulse), .event = {}};
    }
    case wire::Frame::kAnswer:
      return read_answer(frame.answer());
    case wire::Frame::kFileInspected: {
      ENGINE_ASSIGN(FileReport report, from_wire(frame.file_inspected()));
      return Arrival{.pulse = {}, .event = std::move(report)};
    }
    default:
      return engine::Error{engine::ErrorCode::Protocol,
                           fmt::format("a frame of kind {} goes to a worker, not from it",
                                       static_cast<int>(frame.body_case()))};
  }
}

engine::Result<Arrival> WorkerFrames::read_answer(const wire::Answer& message) {
  if (message.has_activity()) {
    ENGINE_TRY(assembler_.admit(message.id(), message.activity()));
  }
  ENGINE_ASSIGN(Answer read, from_wire(message));
  if (auto* chunk = std::get_if<profiling::Activity>(&read)) {
    ENGINE_TRY(assembler_.add(message.id(), std::move(*chunk)));
    return Arrival{};
  }
  if (auto* done = std::get_if<RunDone>(&read)) done->activity = assembler_.take(message.id());
  if (const engine::Status checked =
          std::visit([](const auto& answer) { return check(answer); }, read);
      !checked.ok()) {
    return engine::Error{engine::ErrorCode::Protocol,
                         fmt::format("{}: {}", engine::ChoiceNames<Answer>::names[read.index()],
                                     checked.error().message)};
  }
  Arrival arrival;
  if (is_last(message.result_case())) {
    arrival.answered = message.id();
    assembler_.drop(message.id());  // of a run that failed: nobody will ask for its records
  }
  std::visit(
      [&](auto& answer) {
        set_id(answer, message.id());
        arrival.event = std::move(answer);
      },
      read);
  return arrival;
}

}  // namespace app
