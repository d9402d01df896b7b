// A small caching allocator: one block of memory handed out in pieces, first fit, so that a freed
// piece goes to the next request. Used by the programs with reuse mistakes; addresses are the same
// every time. The pieces are recorded in the ledger, the block is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/device/allocation_ledger.h"
#include "engine/model/error.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

class BlockPool {
 public:
  BlockPool() = default;
  BlockPool(BlockPool&& other) noexcept;
  BlockPool& operator=(BlockPool&& other) noexcept;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool();

  /// `space` is Device or PinnedHost.
  static engine::Result<BlockPool> create(std::int64_t bytes, engine::MemorySpace space);

  /// 256-byte aligned. OutOfMemory if no free piece is large enough. Makes no CUDA call, so it may
  /// be used during a capture.
  engine::Result<std::byte*> take(std::int64_t bytes, engine::AllocationLabel label);
  /// A taken piece, or null. The memory stays mapped.
  void give_back(const std::byte* piece);

  /// All of its memory.
  GraphPool range() const;

 private:
  struct Piece {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
  };

  std::byte* base_ = nullptr;
  std::int64_t bytes_ = 0;
  engine::MemorySpace space_ = engine::MemorySpace::Device;
  std::vector<Piece> taken_;  // ascending by offset
};

}  // namespace profiling
