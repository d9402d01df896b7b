// Hashes of pieces of device memory, computed on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiling/attach/preload/driver_names.h"
#include "profiling/attach/preload/refusal.h"

namespace attach {

/// As memory_hash.cu has it.
struct Piece {
  std::uint64_t address;  // a multiple of 16
  std::uint64_t bytes;
};
inline constexpr std::size_t kMostPieces = 1 << 17;

/// A stream, and whether its default one is one per thread.
struct OnStream {
  CUstream stream = nullptr;
  bool per_thread = false;
};

/// The kernel and the memory that it needs, of one context.
class MemoryHash {
 public:
  constexpr MemoryHash() = default;

  /// Loads the kernel into the current context, at the first call. Never during a capture.
  Refusal prepare();
  Piece* pieces() { return pieces_; }
  const std::uint64_t* hashes() const { return hashes_; }
  /// Of the first `count` pieces, behind what the stream does already; enqueues only.
  Refusal launch(std::size_t count, OnStream on);

 private:
  CUfunction kernel_ = nullptr;
  Piece* pieces_ = nullptr;  // pinned: the device reads and writes them where they are
  std::uint64_t* hashes_ = nullptr;
};

}  // namespace attach
