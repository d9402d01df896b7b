// A worker that has made many steps remembers the memory of all of them; a graph has to do with
// few.
#pragma once

#include <cstdint>

#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// Leaves out of the ledger what was released by the time `since` (a position on the ledger's
/// clock) and means nothing to any graph of the snapshot: no address that a node holds lies in it.
void leave_out_earlier_allocations(Snapshot& snapshot, std::uint64_t since);

}  // namespace profiling
