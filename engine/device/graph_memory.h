// The memory that only the graphs of a step use. The graphs have turns: they are captured, and
// later replayed, one after another in this order, and a piece of memory is in use from the turn
// that takes it to the turn that gives it back, as with a caching allocator during the captures. As
// kernels get their addresses when a step is set up, all pieces are placed then, for the turns to
// come. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/allocation_ledger.h"
#include "engine/device/block_pool.h"
#include "engine/model/allocation.h"
#include "engine/model/buffer_life.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"
#include "engine/model/run_result.h"

namespace engine {

class GraphMemory {
 public:
  /// A pool grows by this share of it at a time, where its pieces are smaller: what may stay
  /// unused.
  static constexpr std::int64_t kSpareShare = 16;
  /// Source of blocks: BlockPool::create() of device memory, or a substitute in tests.
  using MakeBlock = std::function<Result<BlockPool>(std::int64_t bytes)>;
  GraphMemory(PoolSharing sharing, MakeBlock make_block);
  explicit GraphMemory(PoolSharing sharing);
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  /// For the turns of `when`. The label is the ledger's while one of them is captured.
  Result<std::byte*> take(std::int64_t bytes, AllocationLabel label, TurnSpan when);

  /// Around the capture of the graph of this turn: what the ledger has of the pieces. A capture may
  /// be repeated, the order of the turns may not.
  void begin_capture(int turn);
  void end_capture(int turn);

  /// All blocks, for the rules about graphs that share memory.
  std::vector<GraphPool> ranges() const;
  GraphMemoryFacts facts() const;

 private:
  struct Piece {
    std::byte* address = nullptr;
    std::int64_t bytes = 0;
    AllocationLabel label;
    TurnSpan when;
    bool in_ledger = false;
  };
  using Pool = std::vector<BlockPool>;  // grows by blocks

  void release(Piece& piece);

  PoolSharing sharing_;
  MakeBlock make_block_;
  std::vector<Pool> pools_;  // one, or one per turn
  std::vector<Piece> pieces_;
};

/// While it lives, this thread's device buffers of the lives Saved, Forward and Backward
/// (buffer_life.h) come from `memory`. The innermost scope applies. Without effect while red zones
/// are on, which need memory that nobody else writes.
class GraphMemoryScope {
 public:
  struct Turns {
    std::shared_ptr<GraphMemory> memory = nullptr;  // null = buffers have memory of their own
    int forward = 0;
    int backward = 0;
    std::string owner = {};  // goes before the owners in the ledger; may be empty
  };
  explicit GraphMemoryScope(Turns turns);
  ~GraphMemoryScope();
  GraphMemoryScope(const GraphMemoryScope&) = delete;
  GraphMemoryScope& operator=(const GraphMemoryScope&) = delete;

  /// Turns of a life. Null: a buffer with this life has its own memory here.
  static const Turns* of(BufferLife life);
  static TurnSpan span_of(const Turns& turns, BufferLife life);

 private:
  Turns outer_;
};

}  // namespace engine
