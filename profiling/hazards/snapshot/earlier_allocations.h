// The ledger of a worker that has run many steps holds the memory of all of them; a graph refers to
// few.
#pragma once

#include <cstdint>

#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// Removes from the ledger what was released by `since` (a position on the ledger's clock) and is
/// irrelevant to every graph of the snapshot: no address that a node holds lies in it.
void leave_out_earlier_allocations(Snapshot& snapshot, std::uint64_t since);

}  // namespace profiling
