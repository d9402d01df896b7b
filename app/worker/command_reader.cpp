#include "app/worker/command_reader.h"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "app/protocol/convert.h"
#include "engine/input/tensor_source.h"

namespace app {
namespace {

constexpr int kBrokenCheckMs = 200;  // how soon a window that closed without a word is noticed

engine::Error superseded() {
  return {engine::ErrorCode::Cancelled, "superseded before it started"};
}

}  // namespace

int CommandReader::read_until_end() {
  std::array<char, 65536> chunk;
  while (!sender_.broken()) {
    pollfd wait{descriptor_, POLLIN, 0};
    if (::poll(&wait, 1, kBrokenCheckMs) <= 0) continue;
    const ssize_t count = ::read(descriptor_, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const engine::Status end = decoder_.at_end();
      if (end.ok()) return 0;
      spdlog::error("the window's last command is cut off: {}", end.error().message);
      return kExitMalformed;
    }
    decoder_.append({chunk.data(), static_cast<std::size_t>(count)});
    while (true) {
      const engine::Result<std::optional<wire::Frame>> frame = decoder_.next();
      if (!frame.ok()) {
        spdlog::error("the window sent something that is not a command: {}", frame.error().message);
        return kExitMalformed;
      }
      if (!frame.value()) break;
      if (const std::optional<int> code = handle(*frame.value())) return *code;
    }
  }
  return 0;
}

template <class Message>
std::optional<int> CommandReader::take_order(const wire::Frame& frame, std::uint64_t id,
                                             const Message& message) {
  auto read = from_wire(message);
  if (read.ok()) {
    order({.id = id,
           .order = std::move(read).value(),
           .allowed_libraries = {frame.allowed_libraries().begin(),
                                 frame.allowed_libraries().end()}});
  } else {
    refuse_order(id, read.error());
  }
  return std::nullopt;
}

std::optional<int> CommandReader::handle(const wire::Frame& frame) {
  switch (frame.body_case()) {
    case wire::Frame::kHello:
      return greet(frame.hello());
    case wire::Frame::kRun:
      return take_order(frame, frame.run().id(), frame.run().request());
    case wire::Frame::kQuantize:
      return take_order(frame, frame.quantize().id(), frame.quantize());
    case wire::Frame::kCompare:
      return take_order(frame, frame.compare().id(), frame.compare().comparison());
    case wire::Frame::kHistory:
      return take_order(frame, frame.history().id(), frame.history().history());
    case wire::Frame::kBench:
      return take_order(frame, frame.bench().id(), frame.bench());
    case wire::Frame::kDoctor:
      return take_order(frame, frame.doctor().id(), frame.doctor());
    case wire::Frame::kCancel:
      if (const auto dropped = jobs_.cancel()) refuse_order(*dropped, superseded());
      return std::nullopt;
    case wire::Frame::kInspectFile:
      inspect(frame.inspect_file());
      return std::nullopt;
    case wire::Frame::kWatchDevice:
      readings_.watch(frame.watch_device().on());
      return std::nullopt;
    case wire::Frame::kShutdown:
      return 0;
    default:
      spdlog::error("a frame of kind {} comes from a worker, not from a window",
                    static_cast<int>(frame.body_case()));
      return kExitMalformed;
  }
}

std::optional<int> CommandReader::greet(const wire::Hello& hello) {
  if (hello.protocol_version() != kProtocolVersion) {
    wire::Frame frame;
    wire::HelloReply& reply = *frame.mutable_hello_reply();
    reply.set_protocol_version(kProtocolVersion);
    reply.set_program_version(kProgramVersion);
    reply.set_refused(fmt::format(
        "this worker ({}) speaks protocol version {} and the window ({}) version {}; use programs "
        "from the same build",
        kProgramVersion, kProtocolVersion, hello.program_version(), hello.protocol_version()));
    static_cast<void>(sender_.send(frame).ok());  // it exits either way
    return kExitRefused;
  }
  {
    const std::lock_guard lock(greeting_mutex_);
    greeted_ = true;
  }
  reply_if_both_ready();
  return std::nullopt;
}

void CommandReader::backends_ready(const WorkerHello& hello) {
  {
    const std::lock_guard lock(greeting_mutex_);
    hello_ = hello;
  }
  reply_if_both_ready();
}

void CommandReader::reply_if_both_ready() {
  wire::Frame frame;
  {
    const std::lock_guard lock(greeting_mutex_);
    if (!greeted_ || !hello_ || replied_) return;
    replied_ = true;
    *frame.mutable_hello_reply() = to_wire(*hello_);
    frame.mutable_hello_reply()->set_protocol_version(kProtocolVersion);
  }
  static_cast<void>(sender_.send(frame).ok());  // broken: read_until_end() exits
}

void CommandReader::order(Job job) {
  {
    const std::lock_guard lock(greeting_mutex_);
    if (!greeted_) {
      return refuse_order(job.id, {engine::ErrorCode::Protocol, "an order came before a greeting"});
    }
  }
  if (const auto replaced = jobs_.put(std::move(job))) refuse_order(*replaced, superseded());
}

void CommandReader::refuse_order(std::uint64_t id, const engine::Error& error) {
  wire::Frame frame;
  *frame.mutable_failed() = to_wire(RunError{.id = id, .error = error});
  static_cast<void>(sender_.send(frame).ok());
}

void CommandReader::inspect(const wire::InspectFile& command) {
  FileReport report{.path = command.path(), .error = {}, .tensors = {}};
  engine::Result<std::vector<engine::TensorEntry>> tensors = engine::inspect_file(command.path());
  if (tensors.ok()) {
    report.tensors = std::move(tensors).value();
  } else {
    report.error = tensors.error().message;
  }
  wire::Frame frame;
  *frame.mutable_file_inspected() = to_wire(report);
  frame.mutable_file_inspected()->set_id(command.id());
  static_cast<void>(sender_.send(frame).ok());
}

}  // namespace app
