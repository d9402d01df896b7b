// This process's spool, as its writer: frames are reserved and filled in place by any number of
// threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "profiling/attach/spool/frames.h"

namespace attach {

namespace spool = profiling::spool;

/// Creates <folder>/<process id>-<start time>.spool, mode 0600. False: the process is not recorded.
bool open_spool(const char* folder, std::uint64_t limit);

/// In a forked child: lets go of the parent's file.
void forget_spool();

/// Null while nothing is recorded.
spool::FileHeader* spool_header();

/// Nanoseconds on CLOCK_MONOTONIC.
std::uint64_t now();

/// Its id. Introduces the thread with a frame at its first call.
std::uint32_t this_thread();

/// Room for a frame with `bytes` of payload; null = nothing is recorded, or the file is full
/// (counted).
spool::FrameHeader* reserve(spool::Kind kind, std::size_t bytes);
void commit(spool::FrameHeader* frame);

/// One frame with its text. Committed at the end of its scope.
template <class Payload>
class Frame {
 public:
  explicit Frame(std::size_t text_bytes = 0)
      : frame_(reserve(Payload::kKind, sizeof(Payload) + text_bytes)) {
    if (frame_ == nullptr) return;
    payload_ = new (frame_ + 1) Payload{};
    at_ = reinterpret_cast<std::byte*>(payload_ + 1);
  }
  ~Frame() {
    if (frame_ != nullptr) commit(frame_);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  explicit operator bool() const { return frame_ != nullptr; }
  Payload* operator->() { return payload_; }
  Payload& operator*() { return *payload_; }

  /// Appends to what follows the payload. At most the constructor's text_bytes in all.
  void append(const void* bytes, std::size_t count) {
    __builtin_memcpy(at_, bytes, count);
    at_ += count;
  }

 private:
  spool::FrameHeader* frame_ = nullptr;
  Payload* payload_ = nullptr;
  std::byte* at_ = nullptr;
};

/// strlen, at most spool::kMaxText.
std::uint32_t text_bytes(const char* text);

/// The position of the next frame.
std::uint64_t position();

}  // namespace attach
