// The commands a link has not sent yet: one slot per kind, the newest command wins. Not
// thread-safe: the link's lock guards it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/protocol/utf8.h"
#include "app/protocol/wire.h"

namespace app {

class UnsentCommands {
 public:
  /// A run, quantize or comparison order, as a frame. Returns the id of the one it replaces.
  std::optional<std::uint64_t> put_job(std::uint64_t id, wire::Frame frame) {
    const std::optional<std::uint64_t> replaced = drop_job();
    job_id_ = id;
    job_ = std::move(frame);
    return replaced;
  }
  std::optional<std::uint64_t> drop_job() {
    if (!job_) return std::nullopt;
    job_.reset();
    return job_id_;
  }
  void put_cancel() { cancel_ = true; }
  void put_inspection(std::string path) { inspection_ = std::move(path); }
  void put_watch(bool on) { watch_ = on; }

  bool empty() const { return !cancel_ && !job_ && !inspection_ && !watch_; }
  /// The next to send. A cancel goes before a job: it was meant for an older one.
  std::optional<wire::Frame> take() {
    wire::Frame frame;
    if (cancel_) {
      cancel_ = false;
      frame.mutable_cancel();
    } else if (job_) {
      frame = std::move(*job_);
      job_.reset();
    } else if (inspection_) {
      frame.mutable_inspect_file()->set_path(wire_text(*inspection_));
      inspection_.reset();
    } else if (watch_) {
      frame.mutable_watch_device()->set_on(*watch_);
      watch_.reset();
    } else {
      return std::nullopt;
    }
    return frame;
  }

 private:
  bool cancel_ = false;
  std::uint64_t job_id_ = 0;
  std::optional<wire::Frame> job_;
  std::optional<std::string> inspection_;
  std::optional<bool> watch_;
};

}  // namespace app
