// A captured graph with CUPTI's node ids and the work each node belongs to, and memory that CUPTI
// alone saw.
#pragma once

#include <cuda.h>
#include <unordered_map>
#include <vector>

#include "engine/device/driver_api.h"
#include "engine/model/error.h"
#include "engine/observe/step_observer.h"
#include "profiling/cupti/cupti_library.h"
#include "profiling/cupti/event_records.h"
#include "profiling/hazards/model/snapshot.h"
#include "profiling/trace/activity.h"

namespace profiling {

/// Stage and layer from `tags` (captured node id -> its work). Launches nothing and does not change
/// the graph.
engine::Result<GraphSnapshot> read_graph(
    const engine::DriverApi& driver, const CuptiLibrary& cupti, CUgraph graph,
    const std::unordered_map<std::uint64_t, engine::WorkTag>& tags);

/// The nodes in the form that a run's activity holds.
std::vector<GraphNode> nodes_of(const GraphSnapshot& graph);

// Allocations by others that CUPTI saw during a run, for the snapshot's ledger.

/// Adds what `events` (in any order) allocated and did not release, up to kMaxRecordedBlocks
/// blocks, with AllocationRole::RecordKnown. Memory in this project's own ledger, then or now, and
/// memory already known from the driver is left out. Does nothing without a captured graph.
inline constexpr std::size_t kMaxRecordedBlocks = 4096;
void add_recorded_memory(const std::vector<RawMemoryEvent>& events, Snapshot& snapshot);

}  // namespace profiling
