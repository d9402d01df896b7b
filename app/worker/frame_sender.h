// The only way out of the worker: frames from several threads, each written whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "app/protocol/descriptor.h"
#include "app/protocol/framing.h"
#include "app/protocol/orders.h"
#include "app/protocol/worker_link.h"
#include "engine/model/error.h"

namespace app {

class FrameSender {
 public:
  explicit FrameSender(UniqueFd descriptor) : descriptor_(std::move(descriptor)) {}
  /// Large frames from now on.
  void compress() { compression_ = FrameCompression::On; }
  /// They take time to arrive: the reader is on another machine.
  bool compresses() const { return compression_ == FrameCompression::On; }
  /// Blocks while the reader of the pipe is slow. A frame that is too long is an error and leaves
  /// the stream intact; a failed write breaks it permanently.
  engine::Status send(const wire::Frame& frame);
  engine::Status answer(std::uint64_t id, const Answer& answer);
  engine::Status report(const FileReport& report);
  /// The reader has gone: the worker should end.
  bool broken() const { return broken_.load(); }

 private:
  UniqueFd descriptor_;
  std::mutex mutex_;
  std::atomic<bool> broken_{false};
  std::atomic<FrameCompression> compression_{FrameCompression::Off};
};

}  // namespace app
