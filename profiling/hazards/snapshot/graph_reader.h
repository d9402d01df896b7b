// Reads a captured graph through the driver: nodes with their parameters, edges with their kinds.
// The runtime's getters refuse kernel nodes recorded by another copy of the runtime, such as
// cuBLASLt's.
#pragma once

#include <vector>

#include "engine/device/driver_api.h"
#include "engine/model/error.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

struct ReadGraph {
  GraphSnapshot snapshot;            // without name, capture times and events
  std::vector<CUgraphNode> handles;  // of snapshot.nodes; valid as long as the graph
};

/// `graph` must no longer be under capture. Nodes are in creation order as far as their
/// dependencies allow; those of child graphs follow the node that contains them. Ids, stages and
/// layers are left empty. Errors name the driver call.
engine::Result<ReadGraph> read_captured_graph(const engine::DriverApi& driver, CUgraph graph);

/// Argument bytes of a kernel node at their offsets, and where each argument lies. The driver gives
/// an argument as `kernelParams` or inside `extra`, whichever was set last.
struct KernelArguments {
  std::vector<std::byte> bytes;
  std::vector<ParameterSlot> slots;
};
KernelArguments read_arguments(const engine::DriverApi& driver,
                               const CUDA_KERNEL_NODE_PARAMS& parameters);

// Queries the driver for the memory behind addresses in captured graphs that are not in the ledger.

/// Appends the graphs' own allocations and the driver's ranges to the snapshot's ledger, with
/// AllocationRole::DriverKnown. Needs a current context. Words that the driver does not know as
/// addresses are ignored.
void add_driver_memory(const engine::DriverApi& driver, Snapshot& snapshot);

}  // namespace profiling
