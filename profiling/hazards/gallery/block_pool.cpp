#include "profiling/hazards/gallery/block_pool.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/device/check.h"

namespace profiling {
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
    engine::AllocationLedger::of_process().released(base_ + piece.offset);
  }
  if (space_ == engine::MemorySpace::PinnedHost) {
    (void)cudaFreeHost(base_);
  } else {
    (void)cudaFree(base_);
  }
}

engine::Result<BlockPool> BlockPool::create(std::int64_t bytes, engine::MemorySpace space) {
  BlockPool pool;
  pool.bytes_ = bytes;
  pool.space_ = space;
  void* base = nullptr;
  ENGINE_CUDA_TRY(space == engine::MemorySpace::PinnedHost
                      ? cudaMallocHost(&base, static_cast<std::size_t>(bytes))
                      : cudaMalloc(&base, static_cast<std::size_t>(bytes)),
                  "Allocating the memory of a pool");
  pool.base_ = static_cast<std::byte*>(base);
  return pool;
}

engine::Result<std::byte*> BlockPool::take(std::int64_t bytes, engine::AllocationLabel label) {
  const std::int64_t needed =
      std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  std::int64_t offset = 0;
  auto next = taken_.begin();
  while (next != taken_.end() && next->offset - offset < needed) {
    offset = next->offset + next->bytes;
    ++next;
  }
  if (offset + needed > bytes_) {
    return engine::Error{engine::ErrorCode::OutOfMemory,
                         fmt::format("The program's pool has no {} free bytes", bytes)};
  }
  taken_.insert(next, {.offset = offset, .bytes = needed});
  engine::AllocationLedger::of_process().allocated(
      base_ + offset, static_cast<std::uint64_t>(needed), space_, std::move(label));
  return base_ + offset;
}

void BlockPool::give_back(const std::byte* piece) {
  const auto found = std::find_if(taken_.begin(), taken_.end(), [&](const Piece& taken) {
    return base_ + taken.offset == piece;
  });
  if (found == taken_.end()) return;
  engine::AllocationLedger::of_process().released(piece);
  taken_.erase(found);
}

GraphPool BlockPool::range() const {
  return {.address = reinterpret_cast<std::uint64_t>(base_),
          .bytes = static_cast<std::uint64_t>(bytes_)};
}

}  // namespace profiling
