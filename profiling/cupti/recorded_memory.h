// Allocations by others that CUPTI saw during a run, for the snapshot's ledger.
#pragma once

#include <vector>

#include "profiling/cupti/event_records.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// Adds what `events` (in any order) allocated and did not release, up to kMostRecordedBlocks
/// blocks, with AllocationRole::RecordKnown. Memory in this project's own ledger, then or now, and
/// memory already known from the driver is left out. Does nothing without a captured graph.
inline constexpr std::size_t kMostRecordedBlocks = 4096;
void add_recorded_memory(const std::vector<RawMemoryEvent>& events, Snapshot& snapshot);

}  // namespace profiling
