// The one way out of the worker: frames of several threads, whole and one after another.
#pragma once

#include <atomic>
#include <mutex>

#include "app/protocol/unique_fd.h"
#include "app/protocol/wire.h"
#include "engine/model/error.h"

namespace app {

class FrameSender {
 public:
  explicit FrameSender(UniqueFd descriptor) : descriptor_(std::move(descriptor)) {}
  /// Blocks while the reader of the pipe is slow. A frame that is too long is an error and leaves
  /// the stream whole; a failed write breaks it for good.
  engine::Status send(const wire::Frame& frame);
  /// Nobody reads any more: the worker has no reason left to live.
  bool broken() const { return broken_.load(); }

 private:
  UniqueFd descriptor_;
  std::mutex mutex_;
  std::atomic<bool> broken_{false};
};

}  // namespace app
