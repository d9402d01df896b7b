// Memory that a captured graph uses and the project's own ledger does not have: library-internal
// blocks, pools, allocations of the graph itself. Pure: driver_memory.h asks the driver.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/model/allocation.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// Words of the graphs that may be addresses and lie in no entry of the ledger; ascending, each
/// once, up to kMostUnlistedWords of them.
inline constexpr std::size_t kMostUnlistedWords = 1 << 16;
std::vector<std::uint64_t> unlisted_words(const Snapshot& snapshot);

struct ForeignRange {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  engine::MemorySpace space = engine::MemorySpace::Device;
};

/// Adds live entries behind the ledger's own; ranges that overlap a live entry are left out, so the
/// owner's word always counts. `role` says who knows of them. Owners are numbered in the order they
/// are added. Entries have no times: nobody says when they came.
void add_foreign_memory(Snapshot& snapshot, std::span<const ForeignRange> ranges,
                        engine::AllocationRole role);

/// What the graphs' own allocation nodes hold, as the driver gives it.
std::vector<ForeignRange> graph_allocations(const Snapshot& snapshot);

}  // namespace profiling
