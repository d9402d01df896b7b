#include "kernels/diagnostics/delay.h"

#include "kernels/common/device_time.cuh"
#include "kernels/common/launch.cuh"

namespace kernels {
namespace {

__global__ void wait_kernel(std::uint64_t nanoseconds) { stay_busy(nanoseconds); }

__global__ void nothing_kernel() {}

}  // namespace

cudaError_t add_delay_node(cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                           std::size_t num_dependencies, std::uint64_t nanoseconds,
                           cudaGraphNode_t* node) {
  void* arguments[] = {&nanoseconds};
  cudaKernelNodeParams parameters = {};
  parameters.func = reinterpret_cast<void*>(&wait_kernel);
  parameters.gridDim = dim3(1);
  parameters.blockDim = dim3(1);
  parameters.kernelParams = arguments;
  return cudaGraphAddKernelNode(node, graph, dependencies, num_dependencies, &parameters);
}

cudaError_t launch_nothing(cudaStream_t stream) { return launch_plain(nothing_kernel, {}, stream); }

}  // namespace kernels
