// Driver getters only: the runtime refuses kernel nodes that another copy of it recorded, which is
// what cuBLASLt's are.
#include "profiling/cupti/captured_graph.h"

#include <fmt/format.h>

#include "profiling/cupti/attribution.h"

namespace profiling {
namespace {

engine::Error driver_error(CUresult result, const char* doing) {
  return {
      .code = engine::ErrorCode::Device,
      .message = fmt::format("{} failed with driver error {}", doing, static_cast<int>(result))};
}

std::string node_name(const engine::DriverApi& driver, CUgraphNode node) {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  if (driver.graph_node_get_type(node, &type) != CUDA_SUCCESS) return "unknown node";
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      CUDA_KERNEL_NODE_PARAMS params{};
      if (driver.graph_kernel_node_get_params(node, &params) != CUDA_SUCCESS) return "kernel";
      const char* name = nullptr;
      const CUresult named = params.func != nullptr ? driver.func_get_name(&name, params.func)
                                                    : driver.kernel_get_name(&name, params.kern);
      return named == CUDA_SUCCESS ? readable_kernel_name(name) : "kernel";
    }
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return "memset";
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return "memcpy";
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return "empty";
    default:
      return fmt::format("node of type {}", static_cast<int>(type));
  }
}

struct Edges {
  std::vector<CUgraphNode> from;
  std::vector<CUgraphNode> to;
};

engine::Result<Edges> read_edges(const engine::DriverApi& driver, CUgraph graph) {
  std::size_t count = 0;
  // Edge data is asked for although unused: without it, programmatic edges make the query fail.
  CUresult result = driver.graph_get_edges(graph, nullptr, nullptr, nullptr, &count);
  Edges edges{.from = std::vector<CUgraphNode>(count), .to = std::vector<CUgraphNode>(count)};
  std::vector<CUgraphEdgeData> edge_data(count);
  if (result == CUDA_SUCCESS && count > 0) {
    result =
        driver.graph_get_edges(graph, edges.from.data(), edges.to.data(), edge_data.data(), &count);
  }
  if (result != CUDA_SUCCESS) return driver_error(result, "Reading the graph's edges");
  return edges;
}

}  // namespace

engine::Result<std::vector<GraphNode>> read_graph(
    const engine::DriverApi& driver, const CuptiLibrary& cupti, CUgraph graph,
    const std::unordered_map<std::uint64_t, engine::WorkTag>& tags) {
  std::size_t count = 0;
  CUresult result = driver.graph_get_nodes(graph, nullptr, &count);
  std::vector<CUgraphNode> handles(count);
  if (result == CUDA_SUCCESS && count > 0) {
    result = driver.graph_get_nodes(graph, handles.data(), &count);
  }
  if (result != CUDA_SUCCESS) return driver_error(result, "Reading the graph's nodes");
  const engine::Result<Edges> edges = read_edges(driver, graph);
  if (!edges.ok()) return edges.error();

  std::vector<GraphNode> nodes;
  std::unordered_map<CUgraphNode, std::size_t> index;
  for (CUgraphNode handle : handles) {
    GraphNode node;
    if (const CUptiResult got = cupti.get_graph_node_id(handle, &node.id); got != CUPTI_SUCCESS) {
      return cupti.error(got, "Asking for a graph node's id");
    }
    node.name = node_name(driver, handle);
    if (const auto tag = tags.find(node.id); tag != tags.end()) {
      node.stage = tag->second.stage;
      node.layer = static_cast<std::uint8_t>(tag->second.layer);
    }
    index.emplace(handle, nodes.size());
    nodes.push_back(std::move(node));
  }
  for (std::size_t edge = 0; edge < edges.value().from.size(); ++edge) {
    nodes[index.at(edges.value().to[edge])].dependencies.push_back(
        nodes[index.at(edges.value().from[edge])].id);
  }
  return topological(std::move(nodes));
}

}  // namespace profiling
