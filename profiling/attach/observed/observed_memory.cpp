// Which memory a program had when: its ledger.
#include "profiling/attach/observed/observed_process.h"

#include <fmt/format.h>
#include <utility>

namespace profiling {
namespace {

constexpr std::size_t kMostLedger = 400'000;  // then what was released long ago goes

engine::MemorySpace space_of(spool::MemoryKind memory) {
  switch (memory) {
    case spool::MemoryKind::Managed:
      return engine::MemorySpace::Managed;
    case spool::MemoryKind::PinnedHost:
    case spool::MemoryKind::RegisteredHost:
      return engine::MemorySpace::PinnedHost;
    default:
      return engine::MemorySpace::Device;
  }
}
/// The call that a program makes for such memory.
std::string_view call_of(spool::MemoryKind memory) {
  switch (memory) {
    case spool::MemoryKind::Managed:
      return "cudaMallocManaged";
    case spool::MemoryKind::PinnedHost:
      return "cudaMallocHost";
    case spool::MemoryKind::RegisteredHost:
      return "cudaHostRegister";
    case spool::MemoryKind::Pool:
      return "cudaMallocAsync";
    case spool::MemoryKind::Mapped:
      return "cuMemMap";
    case spool::MemoryKind::Ipc:
      return "cudaIpcOpenMemHandle";
    default:
      return "cudaMalloc";
  }
}
}  // namespace

void ObservedProcess::take_allocation(const SpoolFrame& frame) {
  spool::Allocation made{};
  // Memory that a captured call allocates is the graph's own; its nodes say so.
  if (!frame.read(made) || made.in_capture != 0 || made.address == 0) return;
  if (made.bytes > ~made.address) return;
  release(made.address,
          frame.position);  // a release that was not seen: the address has a new owner
  if (ledger_.size() >= kMostLedger) forget_oldest();
  const std::uint64_t id = ledger_.empty() ? 1 : ledger_.back().id + 1;
  ledger_.push_back({.id = id,
                     .address = made.address,
                     .bytes = made.bytes,
                     .space = space_of(made.memory),
                     .role = engine::AllocationRole::Unknown,
                     .owner = fmt::format("{} {}", call_of(made.memory), id),
                     .allocated_at = frame.position,
                     .freed_at = 0});
  live_[made.address] = ledger_.size() - 1;
}

void ObservedProcess::take_release(const SpoolFrame& frame) {
  spool::Release released{};
  if (!frame.read(released) || released.in_capture != 0) return;
  if (released.bytes == 0) return release(released.address, frame.position);
  // One call may unmap several neighbouring blocks.
  auto block = live_.lower_bound(released.address);
  while (block != live_.end() && block->first - released.address < released.bytes) {
    ledger_[block->second].freed_at = frame.position;
    block = live_.erase(block);
  }
}

void ObservedProcess::release(std::uint64_t address, std::uint64_t position) {
  const auto block = live_.find(address);
  if (block == live_.end()) return;
  ledger_[block->second].freed_at = position;
  live_.erase(block);
}

void ObservedProcess::forget_oldest() {
  // The older half of what was released goes: a graph that still used it would have been found by
  // now.
  std::size_t released = ledger_.size() - live_.size();
  std::vector<engine::Allocation> kept;
  live_.clear();
  std::size_t to_forget = released / 2;
  for (engine::Allocation& block : ledger_) {
    if (!block.live() && to_forget > 0) {
      --to_forget;
      continue;
    }
    if (block.live()) live_[block.address] = kept.size();
    kept.push_back(std::move(block));
  }
  ledger_ = std::move(kept);
}
}  // namespace profiling
