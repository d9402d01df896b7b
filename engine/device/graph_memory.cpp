#include "engine/device/graph_memory.h"

#include <algorithm>
#include <utility>

namespace engine {
namespace {

/// Smaller pieces share a block; the driver hands out memory in units of this size.
constexpr std::int64_t kSmallestBlock = std::int64_t{2} << 20;

std::int64_t bytes_of(const std::vector<BlockPool>& blocks) {
  std::int64_t bytes = 0;
  for (const BlockPool& block : blocks) bytes += static_cast<std::int64_t>(block.range().bytes);
  return bytes;
}

thread_local GraphMemoryScope::Turns current_turns;

}  // namespace

GraphMemory::GraphMemory(PoolSharing sharing, MakeBlock make_block)
    : sharing_(sharing), make_block_(std::move(make_block)) {}

GraphMemory::GraphMemory(PoolSharing sharing)
    : GraphMemory(sharing, [](std::int64_t bytes) {
        return BlockPool::create(bytes, MemorySpace::Device);
      }) {}

GraphMemory::~GraphMemory() {
  for (Piece& piece : pieces_) release(piece);
}

Result<std::byte*> GraphMemory::take(std::int64_t bytes, AllocationLabel label, TurnSpan when) {
  const bool shared = sharing_ == PoolSharing::Shared;
  const auto index = static_cast<std::size_t>(shared ? 0 : when.first);
  if (pools_.size() <= index) pools_.resize(index + 1);
  Pool& pool = pools_[index];
  // What a pool of one graph gets back, nobody else takes.
  const TurnSpan placed = shared ? when : TurnSpan{};
  std::byte* address = nullptr;
  for (BlockPool& block : pool) {
    address = block.plan(bytes, placed);
    if (address != nullptr) break;
  }
  if (address == nullptr) {
    // Room for several such pieces in a large pool: its blocks stay few.
    const std::int64_t piece = BlockPool::piece_bytes(bytes);
    const std::int64_t room = std::max<std::int64_t>(bytes_of(pool) / kSpareShare / piece, 1);
    ENGINE_ASSIGN(BlockPool block, make_block_(std::max(room * piece, kSmallestBlock)));
    address = block.plan(bytes, placed);
    pool.push_back(std::move(block));
  }
  pieces_.push_back({.address = address,
                     .bytes = BlockPool::piece_bytes(bytes),
                     .label = std::move(label),
                     .when = when});
  return address;
}

void GraphMemory::release(Piece& piece) {
  if (std::exchange(piece.in_ledger, false)) {
    AllocationLedger::of_process().released(piece.address);
  }
}

void GraphMemory::begin_capture(int turn) {
  const auto in_use = [turn](const Piece& piece) { return piece.when.meets({turn, turn}); };
  for (Piece& piece : pieces_) {
    if (!in_use(piece)) release(piece);
  }
  for (Piece& piece : pieces_) {
    if (!in_use(piece) || piece.in_ledger) continue;
    AllocationLedger::of_process().allocated(piece.address, static_cast<std::uint64_t>(piece.bytes),
                                             MemorySpace::Device, piece.label);
    piece.in_ledger = true;
  }
}

void GraphMemory::end_capture(int turn) {
  for (Piece& piece : pieces_) {
    if (piece.when.last == turn) release(piece);
  }
}

std::vector<GraphPool> GraphMemory::ranges() const {
  std::vector<GraphPool> ranges;
  for (const Pool& pool : pools_) {
    for (const BlockPool& block : pool) ranges.push_back(block.range());
  }
  return ranges;
}

GraphMemoryFacts GraphMemory::facts() const {
  GraphMemoryFacts facts;
  for (const Pool& pool : pools_) facts.pools += pool.empty() ? 0 : 1;
  for (const GraphPool& range : ranges()) facts.bytes += static_cast<std::int64_t>(range.bytes);
  for (const Piece& piece : pieces_) facts.unshared_bytes += piece.bytes;
  return facts;
}

GraphMemoryScope::GraphMemoryScope(Turns turns)
    : outer_(std::exchange(current_turns, std::move(turns))) {}

GraphMemoryScope::~GraphMemoryScope() { current_turns = std::move(outer_); }

const GraphMemoryScope::Turns* GraphMemoryScope::of(BufferLife life) {
  return life == BufferLife::Step || current_turns.memory == nullptr ? nullptr : &current_turns;
}

TurnSpan GraphMemoryScope::span_of(const Turns& turns, BufferLife life) {
  switch (life) {
    case BufferLife::Forward:
      return {turns.forward, turns.forward};
    case BufferLife::Backward:
      return {turns.backward, turns.backward};
    case BufferLife::Saved:
      return {turns.forward, turns.backward};
    case BufferLife::Step:
      break;
  }
  return {};
}

}  // namespace engine
