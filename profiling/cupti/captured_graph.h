// A captured graph with CUPTI's node ids and the work each node belongs to.
#pragma once

#include <cuda.h>

#include <unordered_map>
#include <vector>

#include "engine/device/driver_api.h"
#include "engine/model/error.h"
#include "engine/observe/step_observer.h"
#include "profiling/cupti/cupti_library.h"
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

}  // namespace profiling
