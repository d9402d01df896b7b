// Conditional nodes with the graphs of their bodies.
#pragma once

#include <cstddef>

#include "profiling/attach/preload/graph_api.h"

namespace attach {

struct ConditionalBodies {
  CUgraphConditionalNodeType kind = CU_GRAPH_COND_TYPE_IF;
  unsigned count = 0;
  const CUgraph* graphs = nullptr;  // the driver's, as long as the node exists
};

/// After the node was added. Drivers before 13.2 tell the bodies then and never again.
void note_conditional(CUgraphNode node, const CUDA_CONDITIONAL_NODE_PARAMS& parameters);

/// In a forked child, where another thread of the parent may have been at work.
void unlock_conditionals_of_parent();

/// False: it was added unseen (a copy of a graph, for example) and the driver is older than 13.2.
bool read_conditional(const GraphApi& api, CUgraphNode node, ConditionalBodies& bodies);

}  // namespace attach
