#include "engine/device/graph_facts.h"

#include <vector>

namespace engine {
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
