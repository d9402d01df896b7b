// Allocations that CUPTI saw during a run and that nobody here made, for the snapshot's ledger.
#pragma once

#include <vector>

#include "profiling/cupti/event_records.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// Adds what `events` (in any order) allocated and did not release, up to kMostRecordedBlocks of
/// them, with AllocationRole::RecordKnown. Memory of this project's own ledger, then or now, and
/// what the driver was already asked about, is left out. Nothing without a captured graph.
inline constexpr std::size_t kMostRecordedBlocks = 4096;
void add_recorded_memory(const std::vector<RawMemoryEvent>& events, Snapshot& snapshot);

}  // namespace profiling
