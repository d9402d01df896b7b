// How much memory was live after each memory event of a run, according to the events. Memory
// allocated before the first event is unknown, so counting starts there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profiling/trace/activity.h"

namespace profiling {

/// Entry i is the state after memory event i.
struct LiveMemory {
  std::vector<std::uint64_t> device_bytes;  // including managed memory and memory of unknown kind
  std::vector<std::uint64_t> host_bytes;    // pinned and pageable
  std::vector<std::uint64_t> pool_bytes;    // sum of the last reported sizes of all pools
  std::uint64_t unknown_releases = 0;       // of allocations before the first event
};

LiveMemory live_memory(std::span<const MemoryEvent> events);

struct LiveBlock {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  engine::MemorySpace space = engine::MemorySpace::Unknown;
  bool operator==(const LiveBlock&) const = default;
};

/// Blocks allocated and not released by these events, which are in order of time; ascending by
/// address.
std::vector<LiveBlock> live_blocks(std::span<const MemoryEvent> events);

}  // namespace profiling
