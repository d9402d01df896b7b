// Reads a graph through the driver into frames: every node with its parameters, every edge.
#pragma once

#include <cstdint>

#include "profiling/attach/preload/driver_names.h"
#include "profiling/attach/spool/frames.h"

namespace attach {

/// `graph` is not under capture. Runs under a relaxed capture mode of this thread, so that it
/// cannot break a capture of another one.
void record_graph(std::uint64_t number, CUgraphExec exec, CUgraph graph,
                  profiling::spool::GraphReason reason);

// An executable graph's node got other parameters.
void record_change(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS& parameters);
void record_change(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS& parameters);
void record_change(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D& parameters);

/// Handles of functions may be given again after this.
void forget_functions();

}  // namespace attach
