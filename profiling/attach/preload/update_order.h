// In which order cuGraphExecUpdate pairs the nodes of two graphs: sinks as they were made, and from
// each node what it waits for, in the order of its incoming edges (CUDA's description of that
// call). Two captures whose branches were captured in another order share it, where the order of
// creation differs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiling/attach/preload/driver_names.h"

namespace attach {

/// order[i] is the index of the node that comes at place i, behind all that it waits for. False:
/// the driver or memory refused.
bool update_order(const CUgraphNode* nodes, std::size_t count, std::uint32_t* order);

}  // namespace attach
