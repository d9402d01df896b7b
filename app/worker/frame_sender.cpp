#include "app/worker/frame_sender.h"

#include "app/protocol/convert.h"
#include "app/protocol/framing.h"

namespace app {

engine::Status FrameSender::send(const wire::Frame& frame) {
  ENGINE_ASSIGN(const std::string bytes, encode_frame(frame, compression_));
  const std::lock_guard lock(mutex_);
  if (broken_) return engine::Error{engine::ErrorCode::Io, "the window is gone"};
  engine::Status written = write_all(descriptor_.get(), bytes);
  if (!written.ok()) broken_ = true;
  return written;
}

engine::Status FrameSender::report(const FileReport& report) {
  wire::Frame frame;
  *frame.mutable_file_inspected() = to_wire(report);
  return send(frame);
}

engine::Status FrameSender::answer(std::uint64_t id, const Answer& answer) {
  wire::Frame frame;
  *frame.mutable_answer() = to_wire(id, answer);
  return send(frame);
}

}  // namespace app
