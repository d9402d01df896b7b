#include "profiling/hazards/proofs/graph_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/device/check.h"
#include "kernels/diagnostics/delay.h"
#include "profiling/hazards/snapshot/accesses.h"

namespace profiling {
namespace {

constexpr std::uint64_t kDelayNs = 5'000'000;

std::vector<int> predecessors(const GraphSnapshot& graph, int node) {
  std::vector<int> before;
  for (const SnapshotEdge& edge : graph.edges) {
    if (edge.to == node) before.push_back(edge.from);
  }
  return before;
}

bool reaches(const GraphSnapshot& graph, int from, int to) {
  std::vector<bool> reached(graph.nodes.size(), false);
  reached[static_cast<std::size_t>(from)] = true;
  // Edges lead to higher indices only, so one pass in source order is enough.
  std::vector<SnapshotEdge> edges = graph.edges;
  std::sort(edges.begin(), edges.end(),
            [](const SnapshotEdge& a, const SnapshotEdge& b) { return a.from < b.from; });
  for (const SnapshotEdge& edge : edges) {
    if (reached[static_cast<std::size_t>(edge.from)]) {
      reached[static_cast<std::size_t>(edge.to)] = true;
    }
  }
  return reached[static_cast<std::size_t>(to)];
}

engine::Result<bool> relocate_kernel(const engine::DriverApi& driver, CUgraphExec executable,
                                     CUgraphNode handle, std::span<const Relocation> ranges) {
  CUDA_KERNEL_NODE_PARAMS parameters{};
  ENGINE_TRY(engine::check_driver(driver.graph_kernel_node_get_params(handle, &parameters),
                                  "Reading a kernel node"));
  KernelArguments arguments = read_arguments(driver, parameters);
  bool moved = false;
  std::vector<void*> pointers;
  for (const ParameterSlot& slot : arguments.slots) {
    std::byte* base = arguments.bytes.data() + slot.offset;
    pointers.push_back(base);
    moved |= relocate_words({base, slot.bytes}, ranges);
  }
  if (!moved) return false;
  parameters.kernelParams = pointers.data();
  parameters.extra = nullptr;
  ENGINE_TRY(engine::check_driver(
      driver.graph_exec_kernel_node_set_params(executable, handle, &parameters),
      "Moving a kernel node's memory"));
  return true;
}

engine::Result<bool> relocate_memset(const engine::DriverApi& driver, CUgraphExec executable,
                                     CUgraphNode handle, std::span<const Relocation> ranges) {
  CUDA_MEMSET_NODE_PARAMS parameters{};
  ENGINE_TRY(engine::check_driver(driver.graph_memset_node_get_params(handle, &parameters),
                                  "Reading a memset node"));
  std::uint64_t word = parameters.dst;
  if (!relocate(word, ranges)) return false;
  parameters.dst = word;
  CUcontext context = nullptr;
  (void)driver.ctx_get_current(&context);
  ENGINE_TRY(engine::check_driver(
      driver.graph_exec_memset_node_set_params(executable, handle, &parameters, context),
      "Moving a memset node's memory"));
  return true;
}

engine::Result<bool> relocate_memcpy(const engine::DriverApi& driver, CUgraphExec executable,
                                     CUgraphNode handle, std::span<const Relocation> ranges) {
  CUDA_MEMCPY3D parameters{};
  ENGINE_TRY(engine::check_driver(driver.graph_memcpy_node_get_params(handle, &parameters),
                                  "Reading a copy node"));
  std::uint64_t source = parameters.srcDevice;
  std::uint64_t destination = parameters.dstDevice;
  bool moved = false;
  if (parameters.srcMemoryType != CU_MEMORYTYPE_HOST && relocate(source, ranges)) {
    parameters.srcDevice = source;
    moved = true;
  }
  if (parameters.dstMemoryType != CU_MEMORYTYPE_HOST && relocate(destination, ranges)) {
    parameters.dstDevice = destination;
    moved = true;
  }
  if (!moved) return false;
  CUcontext context = nullptr;
  (void)driver.ctx_get_current(&context);
  ENGINE_TRY(engine::check_driver(
      driver.graph_exec_memcpy_node_set_params(executable, handle, &parameters, context),
      "Moving a copy node's memory"));
  return true;
}

}  // namespace

engine::Status delay_node(const engine::DriverApi& driver, CUgraph graph, const ReadGraph& read,
                          int node) {
  std::vector<cudaGraphNode_t> before;
  for (const int from : predecessors(read.snapshot, node)) {
    before.push_back(read.handles[static_cast<std::size_t>(from)]);
  }
  cudaGraphNode_t delay = nullptr;
  ENGINE_CUDA_TRY(kernels::add_delay_node(graph, before.data(), before.size(), kDelayNs, &delay),
                  "Adding a delay to the graph");
  CUgraphNode target = read.handles[static_cast<std::size_t>(node)];
  CUgraphNode source = delay;
  const CUgraphEdgeData full{};
  ENGINE_TRY(engine::check_driver(driver.graph_add_dependencies(graph, &source, &target, &full, 1),
                                  "Inserting a delay before a node"));
  return {};
}

engine::Status order_nodes(const engine::DriverApi& driver, CUgraph graph, const ReadGraph& read,
                           int first, int second) {
  if (reaches(read.snapshot, second, first)) {
    return engine::Error{
        engine::ErrorCode::InvalidArgument,
        fmt::format("Node {} cannot wait for node {}: it precedes it", second, first)};
  }
  CUgraphNode from = read.handles[static_cast<std::size_t>(first)];
  CUgraphNode to = read.handles[static_cast<std::size_t>(second)];
  std::size_t count = 0;
  (void)driver.graph_get_edges(graph, nullptr, nullptr, nullptr, &count);
  std::vector<CUgraphNode> sources(count);
  std::vector<CUgraphNode> targets(count);
  std::vector<CUgraphEdgeData> kinds(count);
  if (count > 0) {
    ENGINE_TRY(engine::check_driver(
        driver.graph_get_edges(graph, sources.data(), targets.data(), kinds.data(), &count),
        "Reading the graph's edges"));
  }
  for (std::size_t e = 0; e < count; ++e) {
    if (sources[e] != from || targets[e] != to) continue;
    ENGINE_TRY(engine::check_driver(
        driver.graph_remove_dependencies(graph, &from, &to, &kinds[e], 1), "Removing an edge"));
  }
  const CUgraphEdgeData full{};
  ENGINE_TRY(engine::check_driver(driver.graph_add_dependencies(graph, &from, &to, &full, 1),
                                  "Adding an edge"));
  return {};
}

bool relocate(std::uint64_t& word, std::span<const Relocation> ranges) {
  const auto found =
      std::ranges::find_if(ranges, [word](const Relocation& range) { return range.holds(word); });
  if (found == ranges.end()) return false;
  word = word - found->address + found->target;
  return true;
}

bool relocate_words(std::span<std::byte> bytes, std::span<const Relocation> ranges) {
  bool moved = false;
  any_word(bytes, [&](std::uint64_t at, std::uint64_t word) {
    if (!relocate(word, ranges)) return false;
    std::memcpy(bytes.data() + at, &word, sizeof word);
    moved = true;
    return false;
  });
  return moved;
}

engine::Result<bool> relocate_node(const engine::DriverApi& driver, CUgraphExec executable,
                                   const ReadGraph& read, int node,
                                   std::span<const Relocation> ranges) {
  const CUgraphNode handle = read.handles[static_cast<std::size_t>(node)];
  switch (read.snapshot.nodes[static_cast<std::size_t>(node)].type) {
    case NodeType::Kernel:
      return relocate_kernel(driver, executable, handle, ranges);
    case NodeType::Memset:
      return relocate_memset(driver, executable, handle, ranges);
    case NodeType::Memcpy:
      return relocate_memcpy(driver, executable, handle, ranges);
    default:
      return false;
  }
}

std::vector<int> memsets_before(const GraphSnapshot& graph, int node) {
  std::vector<int> memsets = predecessors(graph, node);
  std::erase_if(memsets, [&](int before) {
    return graph.nodes[static_cast<std::size_t>(before)].type != NodeType::Memset;
  });
  return memsets;
}

engine::Result<engine::DeviceBuffer> copy_elsewhere(const engine::Allocation& allocation) {
  ENGINE_ASSIGN(engine::DeviceBuffer fresh,
                engine::DeviceBuffer::allocate(
                    static_cast<std::int64_t>(allocation.bytes),
                    {engine::AllocationRole::Check, "instead of " + allocation.owner}));
  std::byte* target = fresh.data();
  // A freed range may now hold other data.
  ENGINE_CUDA_TRY(allocation.live()
                      ? cudaMemcpy(target, reinterpret_cast<const void*>(allocation.address),
                                   allocation.bytes, cudaMemcpyDeviceToDevice)
                      : cudaMemset(target, 0, fresh.bytes()),
                  "Filling the memory that a node moves to");
  ENGINE_CUDA_TRY(cudaDeviceSynchronize(), "Filling the memory that a node moves to");
  return fresh;
}

}  // namespace profiling
