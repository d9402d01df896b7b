#include "engine/device/block_pool.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "engine/device/check.h"

namespace engine {
namespace {

constexpr std::int64_t kAlignment = 256;

}  // namespace

BlockPool::BlockPool(BlockPool&& other) noexcept { *this = std::move(other); }

BlockPool& BlockPool::operator=(BlockPool&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(space_, other.space_);
  std::swap(taken_, other.taken_);
  return *this;
}

BlockPool::~BlockPool() {
  if (base_ == nullptr) return;
  for (const Piece& piece : taken_) {
    if (piece.in_ledger) AllocationLedger::of_process().released(base_ + piece.offset);
  }
  switch (space_) {
    case MemorySpace::PinnedHost:
      (void)cudaFreeHost(base_);
      break;
    case MemorySpace::PageableHost:
      std::free(base_);
      break;
    default:
      (void)cudaFree(base_);
  }
}

Result<BlockPool> BlockPool::create(std::int64_t bytes, MemorySpace space) {
  BlockPool pool;
  pool.bytes_ = bytes;
  pool.space_ = space;
  void* base = nullptr;
  if (space == MemorySpace::PageableHost) {
    pool.bytes_ = piece_bytes(bytes);
    base = std::aligned_alloc(kAlignment, static_cast<std::size_t>(pool.bytes_));
    if (base == nullptr) {
      return Error{ErrorCode::OutOfMemory, fmt::format("No memory for a pool of {} bytes", bytes)};
    }
    pool.base_ = static_cast<std::byte*>(base);
    return pool;
  }
  ENGINE_CUDA_TRY(space == MemorySpace::PinnedHost
                      ? cudaMallocHost(&base, static_cast<std::size_t>(bytes))
                      : cudaMalloc(&base, static_cast<std::size_t>(bytes)),
                  "Allocating the memory of a pool");
  pool.base_ = static_cast<std::byte*>(base);
  return pool;
}

std::int64_t BlockPool::piece_bytes(std::int64_t bytes) {
  return std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}

std::optional<std::int64_t> BlockPool::find(std::int64_t bytes, TurnSpan when) const {
  std::int64_t offset = 0;
  for (const Piece& piece : taken_) {
    if (!piece.when.meets(when)) continue;
    if (piece.offset - offset >= bytes) break;
    offset = std::max(offset, piece.offset + piece.bytes);
  }
  if (offset + bytes > bytes_) return std::nullopt;
  return offset;
}

Result<std::byte*> BlockPool::take(std::int64_t bytes, AllocationLabel label) {
  const std::int64_t needed = piece_bytes(bytes);
  const std::optional<std::int64_t> offset = find(needed, {});
  if (!offset) {
    return Error{ErrorCode::OutOfMemory,
                 fmt::format("The program's pool has no {} free bytes", bytes)};
  }
  taken_.insert(std::ranges::upper_bound(taken_, *offset, {}, &Piece::offset),
                {.offset = *offset, .bytes = needed, .in_ledger = true});
  AllocationLedger::of_process().allocated(base_ + *offset, static_cast<std::uint64_t>(needed),
                                           space_, std::move(label));
  return base_ + *offset;
}

std::byte* BlockPool::plan(std::int64_t bytes, TurnSpan when) {
  const std::int64_t needed = piece_bytes(bytes);
  const std::optional<std::int64_t> offset = find(needed, when);
  if (!offset) return nullptr;
  taken_.insert(std::ranges::upper_bound(taken_, *offset, {}, &Piece::offset),
                {.offset = *offset, .bytes = needed, .when = when});
  return base_ + *offset;
}

void BlockPool::give_back(const std::byte* piece) {
  const auto found = std::ranges::find_if(
      taken_, [&](const Piece& taken) { return taken.in_ledger && base_ + taken.offset == piece; });
  if (found == taken_.end()) return;
  AllocationLedger::of_process().released(piece);
  taken_.erase(found);
}

GraphPool BlockPool::range() const {
  return {.address = reinterpret_cast<std::uint64_t>(base_),
          .bytes = static_cast<std::uint64_t>(bytes_)};
}

}  // namespace engine
