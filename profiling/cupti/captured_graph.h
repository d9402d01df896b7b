// Reads the nodes of a captured graph through the driver: names, edges and CUPTI's node ids.
#pragma once

#include <cuda.h>

#include <unordered_map>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/device/driver_api.h"
#include "engine/model/error.h"
#include "profiling/cupti/cupti_library.h"
#include "profiling/trace/activity.h"

namespace profiling {

/// Topological order; stage and layer from `tags` (captured node id -> its work). Launches nothing
/// and changes nothing in the graph.
engine::Result<std::vector<GraphNode>> read_graph(
    const engine::DriverApi& driver, const CuptiLibrary& cupti, CUgraph graph,
    const std::unordered_map<std::uint64_t, engine::WorkTag>& tags);

}  // namespace profiling
