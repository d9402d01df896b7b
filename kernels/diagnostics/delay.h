// Kernels that only take time or return at once: experiments on graphs add them next to the kernels
// under test.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace kernels {

/// Adds a node that keeps one thread busy for `nanoseconds` of the device's global timer, after
/// `dependencies`.
cudaError_t add_delay_node(cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                           std::size_t num_dependencies, std::uint64_t nanoseconds,
                           cudaGraphNode_t* node);

/// One thread that returns at once: tests whether the device still accepts work.
cudaError_t launch_nothing(cudaStream_t stream);

}  // namespace kernels
