// What a worker says about itself: its offers, its pulse, its refusals.
#include "app/protocol/convert.h"
#include "app/protocol/convert_doctor.h"
#include "app/protocol/convert_measurement.h"
#include "app/protocol/convert_parts.h"
#include "app/protocol/field_check.h"
#include "app/protocol/utf8.h"

namespace app {

static_assert(static_cast<int>(engine::ErrorCode::InvalidArgument) == wire::INVALID_ARGUMENT &&
              static_cast<int>(engine::ErrorCode::NotFound) == wire::NOT_FOUND &&
              static_cast<int>(engine::ErrorCode::Io) == wire::IO &&
              static_cast<int>(engine::ErrorCode::Unsupported) == wire::UNSUPPORTED &&
              static_cast<int>(engine::ErrorCode::OutOfMemory) == wire::OUT_OF_MEMORY &&
              static_cast<int>(engine::ErrorCode::Device) == wire::DEVICE &&
              static_cast<int>(engine::ErrorCode::Protocol) == wire::PROTOCOL &&
              static_cast<int>(engine::ErrorCode::Cancelled) == wire::CANCELLED &&
              static_cast<int>(engine::ErrorCode::Internal) == wire::INTERNAL);

wire::HelloReply to_wire(const WorkerHello& hello) {
  wire::HelloReply out;
  out.set_protocol_version(kProtocolVersion);
  out.set_program_version(hello.program_version);
  out.set_host(hello.host);
  out.set_tracing(hello.tracing);
  for (const BackendOffer& offer : hello.backends) {
    wire::BackendOffer& added = *out.add_backends();
    added.set_kind(static_cast<wire::GemmBackend>(offer.kind));
    added.set_available(offer.available);
    added.set_reason(offer.reason);
    *added.mutable_device() = to_wire(offer.device);
  }
  for (const std::string& library : hello.cublaslt_libraries)
    out.add_cublaslt_libraries(wire_text(library));
  return out;
}

engine::Result<WorkerHello> from_wire(const wire::HelloReply& message) {
  FieldCheck check;
  WorkerHello hello{.program_version = message.program_version(),
                    .host = message.host(),
                    .tracing = message.tracing(),
                    .backends = {},
                    .cublaslt_libraries = {message.cublaslt_libraries().begin(),
                                           message.cublaslt_libraries().end()}};
  for (const wire::BackendOffer& offer : message.backends()) {
    BackendOffer& added = hello.backends.emplace_back();
    check.enumerator(added.kind, offer.kind(), wire::GemmBackend_IsValid, "backends.kind");
    added.available = offer.available();
    added.reason = offer.reason();
    added.device = from_wire(offer.device());
  }
  return check.result(std::move(hello));
}

engine::Result<PulseReport> from_wire(const wire::Pulse& message) {
  FieldCheck check;
  PulseReport pulse{.request_id = message.request_id(),
                    .iteration = message.iteration(),
                    .iterations = message.iterations(),
                    .expert = message.expert(),
                    .fraction = message.fraction(),
                    .dropped_records = message.dropped_records(),
                    .replay = message.replay(),
                    .board = {},
                    .device = message.device(),
                    .reading = {}};
  pulse.board = read_states(message.board(), check);
  check.enumerator(pulse.stage, message.stage(), wire::Stage_IsValid, "pulse.stage");
  if (message.has_reading()) {
    engine::Result<profiling::PowerTrace> reading = from_wire(message.reading());
    if (!reading.ok()) return reading.error();
    pulse.reading = std::move(reading).value();
  }
  return check.result(std::move(pulse));
}

wire::RunFailed to_wire(const RunError& failure) {
  wire::RunFailed out;
  out.set_id(failure.id);
  out.set_code(static_cast<wire::ErrorCode>(failure.error.code));
  out.set_message(wire_text(failure.error.message));
  if (failure.stalled != nullptr) *out.mutable_stalled() = to_wire(*failure.stalled);
  return out;
}

engine::Result<RunError> from_wire(const wire::RunFailed& message) {
  FieldCheck check;
  RunError failure{.id = message.id(), .error = {.message = message.message()}};
  check.enumerator(failure.error.code, message.code(), wire::ErrorCode_IsValid, "failed.code");
  if (message.has_stalled()) {
    engine::Result<DoctorDone> stalled = from_wire(message.stalled());
    if (!stalled.ok()) return stalled.error();
    failure.stalled = std::make_shared<const DoctorDone>(std::move(stalled).value());
  }
  return check.result(std::move(failure));
}

wire::FileInspected to_wire(const FileReport& report) {
  wire::FileInspected out;
  out.set_path(wire_text(report.path));
  out.set_error(wire_text(report.error));
  for (const engine::TensorEntry& tensor : report.tensors) {
    wire::TensorEntry& added = *out.add_tensors();
    added.set_name(wire_text(tensor.name));
    added.set_dtype(wire_text(tensor.dtype));
    added.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
    added.set_usable(tensor.usable);
    added.set_reason(wire_text(tensor.reason));
  }
  return out;
}

FileReport from_wire(const wire::FileInspected& message) {
  FileReport report{.path = message.path(), .error = message.error(), .tensors = {}};
  for (const wire::TensorEntry& tensor : message.tensors()) {
    report.tensors.push_back({.name = tensor.name(),
                              .dtype = tensor.dtype(),
                              .shape = {tensor.shape().begin(), tensor.shape().end()},
                              .usable = tensor.usable(),
                              .reason = tensor.reason()});
  }
  return report;
}

}  // namespace app
