#include "app/worker/command_reader.h"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "app/protocol/convert.h"
#include "app/protocol/paths.h"
#include "app/protocol/protocol_version.h"

namespace app {
namespace {

constexpr int kBrokenCheckMs = 200;  // how soon a window that closed without notice is detected

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

std::optional<int> CommandReader::handle(const wire::Frame& frame) {
  switch (frame.body_case()) {
    case wire::Frame::kHello:
      return greet(frame.hello());
    case wire::Frame::kOrder:
      take(frame.order());
      return std::nullopt;
    case wire::Frame::kCancel:
      if (const auto dropped = orders_.cancel()) refuse(*dropped, superseded());
      return std::nullopt;
    case wire::Frame::kInspectFile:
      inspect(frame.inspect_file());
      return std::nullopt;
    case wire::Frame::kWatchDevice:
      readings_.watch(frame.watch_device().on());
      return std::nullopt;
    case wire::Frame::kPing:
      ping_.arrived(frame.ping().number());
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
  if (hello.protocol_version() != protocol_version()) {
    wire::Frame frame;
    wire::HelloReply& reply = *frame.mutable_hello_reply();
    reply.set_protocol_version(protocol_version());
    reply.set_refused(fmt::format(
        "this worker ({}) speaks protocol version {:08x} and the window ({}) version {:08x}; use "
        "programs "
        "from the same build",
        kProgramVersion, protocol_version(), hello.program_version(), hello.protocol_version()));
    static_cast<void>(sender_.send(frame).ok());  // it exits either way
    return kExitRefused;
  }
  if (hello.compresses()) sender_.compress();
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
    *frame.mutable_hello_reply()->mutable_worker() = to_wire(*hello_);
    frame.mutable_hello_reply()->set_protocol_version(protocol_version());
  }
  static_cast<void>(sender_.send(frame).ok());  // broken: read_until_end() exits
}

void CommandReader::take(const wire::Order& message) {
  {
    const std::lock_guard lock(greeting_mutex_);
    if (!greeted_) {
      return refuse(message.id(), {engine::ErrorCode::Protocol, "an order came before a greeting"});
    }
  }
  engine::Result<Order> order = from_wire(message);
  if (!order.ok()) return refuse(message.id(), order.error());
  const auto replaced = orders_.put(std::move(order).value());
  if (replaced) refuse(*replaced, superseded());
}

void CommandReader::refuse(std::uint64_t id, const engine::Error& error) {
  static_cast<void>(sender_.answer(id, RunError{.error = error}).ok());
}

void CommandReader::inspect(const wire::FileQuestion& command) {
  engine::Result<FileQuestion> question = from_wire(command);
  if (question.ok()) return files_.put(std::move(question).value());
  const FileReport report{.path = command.path(), .error = question.error().message, .tensors = {}};
  static_cast<void>(sender_.report(report).ok());
}

}  // namespace app
