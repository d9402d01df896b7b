// Memory that a captured graph uses and that is not in the project's own ledger: library-internal
// blocks, pools, allocations of the graph itself. Pure: graph_reader.h queries the driver.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/model/allocation.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// Words of the graphs that may be addresses and lie in no ledger entry; ascending, without
/// duplicates, at most kMaxUnlistedWords.
inline constexpr std::size_t kMaxUnlistedWords = 1 << 16;
std::vector<std::uint64_t> unlisted_words(const Snapshot& snapshot);

struct ForeignRange {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  engine::MemorySpace space = engine::MemorySpace::Device;
};

/// Appends live entries to the ledger; ranges that overlap a live entry are left out, so the
/// owner's entry always wins. `role` names the source. Owners are numbered in the order they are
/// added. Entries have no times: when they were allocated is unknown.
void add_foreign_memory(Snapshot& snapshot, std::span<const ForeignRange> ranges,
                        engine::AllocationRole role);

/// The memory of the graphs' own allocation nodes, as given by the driver.
std::vector<ForeignRange> graph_allocations(const Snapshot& snapshot);

// The ledger of a worker that has run many steps holds the memory of all of them; a graph refers to
// few.

/// Removes from the ledger what was released by `since` (a position on the ledger's clock) and is
/// irrelevant to every graph of the snapshot: no address that a node holds lies in it, and it did
/// not begin where released memory of a node did, as its next owner.
void leave_out_earlier_allocations(Snapshot& snapshot, std::uint64_t since);

}  // namespace profiling
