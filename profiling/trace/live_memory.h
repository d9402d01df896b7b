// How much memory was live after each memory event of a run, as the events themselves say it. What
// was allocated before the first of them is not known, so all of it counts from there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profiling/trace/activity.h"

namespace profiling {

/// Entry i is the state after memory event i.
struct LiveMemory {
  std::vector<std::uint64_t> device_bytes;  // managed memory and what has no known place included
  std::vector<std::uint64_t> host_bytes;    // pinned and pageable
  std::vector<std::uint64_t> pool_bytes;    // sum of the sizes of all pools, as last said
  std::uint64_t unknown_releases = 0;       // of allocations before the first event
};

LiveMemory live_memory(std::span<const MemoryEvent> events);

struct LiveBlock {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  engine::MemorySpace space = engine::MemorySpace::Unknown;
  bool operator==(const LiveBlock&) const = default;
};

/// What was allocated by these events, in order of time, and not released by them; ascending by
/// address.
std::vector<LiveBlock> live_blocks(std::span<const MemoryEvent> events);

}  // namespace profiling
