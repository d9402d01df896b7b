// The changes an experiment makes to a captured graph: before it is instantiated (delays, order),
// and to the executable graph (memory that moves). The caller's code is never run again for them.
#pragma once

#include <vector>

#include "engine/device/buffer.h"
#include "engine/device/driver_api.h"
#include "engine/model/allocation.h"
#include "engine/model/error.h"
#include "profiling/capture/graph_reader.h"
#include "profiling/graph/experiment.h"

namespace profiling {

/// A delay between the node's predecessors and the node.
engine::Status delay_node(const engine::DriverApi& driver, CUgraph graph, const ReadGraph& read,
                          int node);

/// A full edge from `first` to `second` in place of any other edge between them. InvalidArgument
/// where `second` already precedes `first`.
engine::Status order_nodes(const engine::DriverApi& driver, CUgraph graph, const ReadGraph& read,
                           int first, int second);

/// Gives the node a fresh buffer in place of the allocation, and the memset right in front of it
/// too if that writes there. The buffer must outlive the executable graph. NotFound if the node
/// holds no address in the allocation.
engine::Result<engine::DeviceBuffer> move_memory(const engine::DriverApi& driver,
                                                 CUgraphExec executable, const ReadGraph& read,
                                                 int node, const engine::Allocation& allocation);

}  // namespace profiling
