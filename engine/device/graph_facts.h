// The contents of a captured graph, read from the graph itself.
#pragma once

#include "engine/device/handles.h"
#include "engine/model/run_result.h"

namespace engine {

/// Counts of nodes by kind, those of child graphs included; host_launch_ns stays 0.
Result<GraphFacts> count_nodes(cudaGraph_t graph);

}  // namespace engine
