// Device probe. Uses the runtime only, so that a missing driver is reported instead of failing the
// start.
#include "engine/device/device_facts.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <array>
#include <fstream>
#include <vector>

#include "engine/device/check.h"

namespace engine {

namespace {

// CUDA reports only the driver's API version; users know the kernel module's version.
std::string driver_version() {
  std::string version;
  if (std::getline(std::ifstream("/sys/module/nvidia/version"), version) && !version.empty()) {
    return version;
  }
  int api = 0;
  if (cudaDriverGetVersion(&api) != cudaSuccess) return {};
  return fmt::format("CUDA {}.{}", api / 1000, api % 1000 / 10);
}

}  // namespace

Result<FoundDevice> find_device() {
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  int api = 0;
  const bool has_driver = cudaDriverGetVersion(&api) == cudaSuccess && api > 0;
  if (counted != cudaSuccess || count == 0) {
    (void)cudaGetLastError();
    if (!has_driver) {
      return Error{ErrorCode::Unsupported,
                   "no CUDA driver: install NVIDIA's driver for CUDA 13 (580 or later)"};
    }
    return Error{ErrorCode::Unsupported,
                 counted == cudaSuccess
                     ? "no CUDA device: the driver lists no GPU"
                     : fmt::format("no CUDA device: {}", cudaGetErrorString(counted))};
  }
  cudaDeviceProp properties{};
  ENGINE_CUDA_TRY(cudaGetDeviceProperties(&properties, 0), "Reading the device's properties");
  const std::string compute = fmt::format("{}.{}", properties.major, properties.minor);
  // The kernels are compiled ahead of time for sm_90a, which no other architecture can load.
  if (properties.major != 9 || properties.minor != 0) {
    return Error{ErrorCode::Unsupported,
                 fmt::format("{} has compute capability {} and this worker's kernels are built for "
                             "9.0 (Hopper) only; use the CPU backend",
                             properties.name, compute)};
  }
  ENGINE_CUDA_TRY(cudaSetDevice(0), "Making the device current");
  FoundDevice found;
  found.facts.name = properties.name;
  found.facts.driver = driver_version();
  found.facts.compute_capability = compute;
  found.facts.multiprocessors = properties.multiProcessorCount;
  found.facts.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  found.capability = {.cuda = true,
                      .compute_major = properties.major,
                      .compute_minor = properties.minor,
                      .cublaslt_version = 0};
  return found;
}

Result<std::int64_t> free_device_memory() {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  ENGINE_CUDA_TRY(cudaMemGetInfo(&free_bytes, &total_bytes), "Querying free device memory");
  return static_cast<std::int64_t>(free_bytes);
}

std::string device_bus_id() {
  int device = 0;
  std::array<char, 32> id{};
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), device) != cudaSuccess) {
    return {};
  }
  return id.data();
}

std::string cuda_runtime_text() {
  int version = 0;
  if (cudaRuntimeGetVersion(&version) != cudaSuccess) return {};
  return fmt::format("CUDA runtime {}.{}", version / 1000, version % 1000 / 10);
}

namespace {

Status add_nodes(cudaGraph_t graph, GraphFacts& facts);

Status add_node(cudaGraphNode_t node, GraphFacts& facts) {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  ENGINE_CUDA_TRY(cudaGraphNodeGetType(node, &type), "Reading a graph node");
  switch (type) {
    case cudaGraphNodeTypeKernel:
      ++facts.kernels;
      break;
    case cudaGraphNodeTypeMemset:
      ++facts.memsets;
      break;
    case cudaGraphNodeTypeMemcpy:
      ++facts.copies;
      break;
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree:
      ++facts.allocations;
      break;
    case cudaGraphNodeTypeHost:
      ++facts.host_calls;
      break;
    case cudaGraphNodeTypeGraph: {
      cudaGraph_t child = nullptr;
      ENGINE_CUDA_TRY(cudaGraphChildGraphNodeGetGraph(node, &child), "Reading a child graph");
      return add_nodes(child, facts);
    }
    default:
      break;  // events, conditionals and empty nodes: not part of a step
  }
  return {};
}

Status add_nodes(cudaGraph_t graph, GraphFacts& facts) {
  std::size_t count = 0;
  ENGINE_CUDA_TRY(cudaGraphGetNodes(graph, nullptr, &count), "Counting graph nodes");
  std::vector<cudaGraphNode_t> nodes(count);
  ENGINE_CUDA_TRY(cudaGraphGetNodes(graph, nodes.data(), &count), "Reading graph nodes");
  for (cudaGraphNode_t node : nodes) ENGINE_TRY(add_node(node, facts));
  return {};
}

}  // namespace

Result<GraphFacts> count_nodes(cudaGraph_t graph) {
  GraphFacts facts;
  ENGINE_TRY(add_nodes(graph, facts));
  return facts;
}

}  // namespace engine
