// The stub driver's copies of graphs, nodes that write memory of the host, and that memory.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "tests/attach/stub_state.h"

namespace {

struct HostMemory {
  std::size_t bytes = 0;
  unsigned long long context = 0;  // that it was registered in
};
std::map<CUdeviceptr, HostMemory> g_host;  // device addresses are the host's

}  // namespace

void stub::take_parameters(CUgraphNode to, const CUgraphNode_st& from) {
  to->kernel = from.kernel;
  to->arguments = from.arguments;
  to->pointers.clear();
  for (auto& argument : to->arguments) to->pointers.push_back(argument.data());
  to->kernel.kernelParams = to->pointers.data();
  to->memset = from.memset;
  to->memcpy = from.memcpy;
  to->address = from.address;
  to->bytes = from.bytes;
  to->writes = from.writes;
}

std::vector<CUgraphNode> stub::before(CUgraphNode node) {
  std::vector<CUgraphNode> found;
  for (const StubEdge& edge : node->graph->edges) {
    if (edge.to == node) found.push_back(edge.from);
  }
  return found;
}

std::vector<CUgraphNode> stub::behind(CUgraphNode node) {
  std::vector<CUgraphNode> found;
  for (const StubEdge& edge : node->graph->edges) {
    if (edge.from == node) found.push_back(edge.to);
  }
  return found;
}

CUgraphNode stub::add_node(CUgraph graph, std::unique_ptr<CUgraphNode_st> node,
                           const CUgraphNode* dependencies, std::size_t count) {
  node->graph = graph;
  for (std::size_t d = 0; d < count; ++d) graph->edges.push_back({dependencies[d], node.get()});
  graph->nodes.push_back(std::move(node));
  return graph->nodes.back().get();
}

std::unique_ptr<CUgraph_st> stub::copy_of(const CUgraph_st& graph) {
  auto copy = std::make_unique<CUgraph_st>();
  std::map<CUgraphNode, CUgraphNode> copies;
  for (const auto& node : graph.nodes) {
    auto& made = copy->nodes.emplace_back(std::make_unique<CUgraphNode_st>());
    made->type = node->type;
    made->graph = copy.get();
    made->original = node.get();
    take_parameters(made.get(), *node);
    copies[node.get()] = made.get();
  }
  for (const StubEdge& edge : graph.edges)
    copy->edges.push_back({copies[edge.from], copies[edge.to], edge.programmatic});
  return copy;
}

bool stub::write_host(CUdeviceptr address, std::uint32_t value, std::size_t words) {
  const auto after = g_host.upper_bound(address);
  if (after == g_host.begin()) return false;
  const auto& [begin, memory] = *std::prev(after);
  if (address + words * sizeof value > begin + memory.bytes) return false;
  if (memory.context != context()) {
    std::fprintf(stderr, "a node writes memory that was registered in a context that is gone\n");
    std::abort();
  }
  std::fill_n(reinterpret_cast<volatile std::uint32_t*>(address), words, value);
  return true;
}

namespace {

CUresult give(const std::vector<CUgraphNode>& all, CUgraphNode* nodes, size_t* count) {
  if (nodes != nullptr) std::copy_n(all.begin(), std::min(*count, all.size()), nodes);
  *count = all.size();
  return CUDA_SUCCESS;
}

/// Which node of an executable graph is which of the graph that updates it: sinks in their order,
/// and from each pair what the two wait for, in the order of their edges.
struct Pairing {
  std::map<CUgraphNode, CUgraphNode> pairs;
  CUgraphNode refused = nullptr;

  bool add(CUgraphNode of_exec, CUgraphNode of_graph) {
    const auto [known, made] = pairs.emplace(of_exec, of_graph);
    if (!made && known->second == of_graph) return true;
    const std::vector<CUgraphNode> here = stub::before(of_exec);
    const std::vector<CUgraphNode> there = stub::before(of_graph);
    bool same = made && of_exec->type == of_graph->type && here.size() == there.size();
    if (!same) refused = of_graph;
    for (std::size_t i = 0; same && i < here.size(); ++i) same = add(here[i], there[i]);
    return same;
  }
  bool add_all(const CUgraph_st& exec, const CUgraph_st& graph) {
    const auto sinks = [](const CUgraph_st& of) {
      std::vector<CUgraphNode> found;
      for (const auto& node : of.nodes) {
        if (stub::behind(node.get()).empty()) found.push_back(node.get());
      }
      return found;
    };
    const std::vector<CUgraphNode> here = sinks(exec);
    const std::vector<CUgraphNode> there = sinks(graph);
    for (std::size_t i = 0; i < std::min(here.size(), there.size()); ++i) {
      if (!add(here[i], there[i])) return false;
    }
    return here.size() == there.size();
  }
};

}  // namespace

extern "C" {

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData*,
                                       size_t* count) {
  return give(stub::before(node), nodes, count);
}
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData*,
                                         size_t* count) {
  return give(stub::behind(node), nodes, count);
}
CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  if (info == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(stub::mutex());
  Pairing pairing;
  if (!pairing.add_all(*exec->graph, *graph)) {
    info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    info->errorNode = pairing.refused;
    info->errorFromNode = nullptr;
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  for (const auto& [of_exec, of_graph] : pairing.pairs) stub::take_parameters(of_exec, *of_graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph* clone, CUgraph graph) {
  const std::lock_guard lock(stub::mutex());
  const bool refused = std::ranges::any_of(graph->nodes, [](const auto& node) {
    return node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
           node->type == CU_GRAPH_NODE_TYPE_MEM_FREE ||
           node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
  });
  if (refused) return CUDA_ERROR_NOT_SUPPORTED;
  *clone = stub::copy_of(*graph).release();
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeFindInClone(CUgraphNode* found, CUgraphNode node, CUgraph clone) {
  for (const auto& one : clone->nodes) {
    if (one->original != node) continue;
    *found = one.get();
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return CUDA_SUCCESS;
}
CUresult cuGraphAddBatchMemOpNode(CUgraphNode* made, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
  const std::lock_guard lock(stub::mutex());
  auto node = std::make_unique<CUgraphNode_st>();
  node->type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
  node->writes.assign(parameters->paramArray, parameters->paramArray + parameters->count);
  *made = stub::add_node(graph, std::move(node), dependencies, count);
  return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void* host, size_t bytes, unsigned) {
  const std::lock_guard lock(stub::mutex());
  g_host[reinterpret_cast<CUdeviceptr>(host)] = {.bytes = bytes, .context = stub::context()};
  return CUDA_SUCCESS;
}
CUresult cuMemHostUnregister(void* host) {
  const std::lock_guard lock(stub::mutex());
  return g_host.erase(reinterpret_cast<CUdeviceptr>(host)) == 0 ? CUDA_ERROR_INVALID_VALUE
                                                                : CUDA_SUCCESS;
}
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* host, unsigned) {
  *device = reinterpret_cast<CUdeviceptr>(host);
  return CUDA_SUCCESS;
}

}  // extern "C"
