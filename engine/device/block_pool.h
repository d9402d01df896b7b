// A small caching allocator: one block of memory handed out in pieces, first fit, so that a freed
// piece goes to the next request. Addresses are the same every time. The pieces are recorded in the
// ledger, the block is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "engine/device/allocation_ledger.h"
#include "engine/model/allocation.h"
#include "engine/model/error.h"

namespace engine {

/// When a piece is in use: turns of a schedule, both ends included.
struct TurnSpan {
  int first = 0;
  int last = std::numeric_limits<int>::max();
  bool meets(const TurnSpan& other) const { return first <= other.last && other.first <= last; }
};

class BlockPool {
 public:
  BlockPool() = default;
  BlockPool(BlockPool&& other) noexcept;
  BlockPool& operator=(BlockPool&& other) noexcept;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool();

  /// `space` is Device, PinnedHost or, for tests on machines without a device, PageableHost.
  static Result<BlockPool> create(std::int64_t bytes, MemorySpace space);

  /// A multiple of 256 bytes, 256-byte aligned, and in the ledger until it is given back.
  /// OutOfMemory if no free piece is large enough. Makes no CUDA call, so it may be used during a
  /// capture.
  Result<std::byte*> take(std::int64_t bytes, AllocationLabel label);
  /// A taken piece, or null. The memory stays mapped.
  void give_back(const std::byte* piece);

  /// A piece for planned turns, which shares memory with pieces of other turns, stays until the
  /// pool ends, and is not in the ledger. Null: nothing that is free in these turns is large
  /// enough.
  std::byte* plan(std::int64_t bytes, TurnSpan when);

  /// All of its memory.
  GraphPool range() const;
  /// The bytes that a piece of this size takes.
  static std::int64_t piece_bytes(std::int64_t bytes);

 private:
  struct Piece {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    TurnSpan when = {};
    bool in_ledger = false;
  };
  /// The lowest offset that is free in these turns.
  std::optional<std::int64_t> find(std::int64_t bytes, TurnSpan when) const;

  std::byte* base_ = nullptr;
  std::int64_t bytes_ = 0;
  MemorySpace space_ = MemorySpace::Device;
  std::vector<Piece> taken_;  // ascending by offset
};

}  // namespace engine
