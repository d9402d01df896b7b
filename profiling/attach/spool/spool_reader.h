// Reads a spool, also while its process writes it. The file is untrusted: whatever it holds,
// reading gives frames or an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/input/regular_file.h"
#include "engine/model/error.h"
#include "profiling/attach/spool/frames.h"

namespace profiling {

/// A frame whose check was right. Valid during the call that hands it out.
struct SpoolFrame {
  spool::Kind kind = {};
  std::uint32_t thread = 0;
  std::uint64_t time = 0;      // nanoseconds on the process's CLOCK_MONOTONIC
  std::uint64_t position = 0;  // on the process's clock: its offset in the file
  std::span<const std::byte> payload;

  /// The payload's structure; false if the frame is too short for it.
  template <class Payload>
  bool read(Payload& into) const {
    if (kind != Payload::kKind || payload.size() < sizeof(Payload)) return false;
    __builtin_memcpy(static_cast<void*>(&into), payload.data(), sizeof(Payload));
    return true;
  }
  /// `count` bytes at `offset` behind a structure of this size; empty if they are not all there.
  std::span<const std::byte> after(std::size_t structure, std::size_t offset,
                                   std::size_t count) const;
  std::string_view text_after(std::size_t structure, std::size_t offset, std::size_t count) const;
};

struct GraphLaunches {
  std::uint64_t exec = 0;
  std::uint64_t graph = 0;
  std::uint64_t launches = 0;
  std::uint64_t last_launch = 0;  // position
  std::uint64_t last_stream = 0;
};

/// A call that had not returned when the header was read.
struct OpenWait {
  std::uint32_t thread = 0;
  spool::WaitCall call = {};
  std::uint64_t since = 0;   // nanoseconds on CLOCK_MONOTONIC of that machine
  std::uint64_t stream = 0;  // 0 = none, or the default one
};

/// What the file's header says, besides frames.
struct SpoolState {
  std::uint32_t process = 0;
  std::uint32_t parent = 0;
  std::uint64_t started = 0;  // nanoseconds since 1970
  std::uint64_t lost_frames = 0;
  bool ended = false;                 // by itself: a killed process never says so
  std::vector<GraphLaunches> graphs;  // with a launch counter
  std::vector<OpenWait> waits;
  std::uint64_t longest_wait = 0;  // nanoseconds, of those that have returned
};

class SpoolReader {
 public:
  /// Errors: not a spool, another version, unreadable.
  static engine::Result<SpoolReader> open(const std::string& path);

  enum class Until {
    Incomplete,  // the process may still complete a frame
    End,         // the process has ended: what is incomplete stays so, and is counted as lost
  };
  /// Calls for every frame since the last call. Errors: the file cannot be read any more.
  engine::Status follow(Until until, const std::function<void(const SpoolFrame&)>& found);

  /// As of the last call of follow().
  const SpoolState& state() const { return state_; }
  /// Frames that were begun and never completed, or damaged.
  std::uint64_t damaged_frames() const { return damaged_; }

 private:
  explicit SpoolReader(engine::RegularFile file) : file_(std::move(file)) {}
  engine::Status read_header();
  bool fill(std::uint64_t at, std::size_t bytes);

  engine::RegularFile file_;
  std::uint64_t position_ = sizeof(spool::FileHeader);
  std::uint64_t end_ = 0;          // of reserved frames, as of the header
  std::vector<std::byte> window_;  // bytes of the file from window_at_ on
  std::uint64_t window_at_ = 0;
  std::uint64_t damaged_ = 0;
  SpoolState state_;
};

}  // namespace profiling
