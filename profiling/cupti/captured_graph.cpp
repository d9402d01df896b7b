#include "profiling/cupti/captured_graph.h"

#include <utility>

#include "profiling/hazards/snapshot/graph_reader.h"

namespace profiling {

engine::Result<GraphSnapshot> read_graph(
    const engine::DriverApi& driver, const CuptiLibrary& cupti, CUgraph graph,
    const std::unordered_map<std::uint64_t, engine::WorkTag>& tags) {
  engine::Result<ReadGraph> read = read_captured_graph(driver, graph);
  if (!read.ok()) return read.error();
  GraphSnapshot snapshot = std::move(read.value().snapshot);
  for (std::size_t n = 0; n < snapshot.nodes.size(); ++n) {
    SnapshotNode& node = snapshot.nodes[n];
    if (const CUptiResult got = cupti.get_graph_node_id(read.value().handles[n], &node.id);
        got != CUPTI_SUCCESS) {
      return cupti.error(got, "Querying a graph node's id");
    }
    if (const auto tag = tags.find(node.id); tag != tags.end()) {
      node.stage = tag->second.stage;
      node.layer = tag->second.layer;
    }
  }
  return snapshot;
}

std::vector<GraphNode> nodes_of(const GraphSnapshot& graph) {
  std::vector<GraphNode> nodes;
  for (const SnapshotNode& node : graph.nodes) {
    nodes.push_back({.id = node.id,
                     .name = node.name,
                     .stage = node.stage,
                     .layer = static_cast<std::uint8_t>(node.layer),
                     .dependencies = {}});
  }
  for (const SnapshotEdge& edge : graph.edges) {
    nodes[static_cast<std::size_t>(edge.to)].dependencies.push_back(
        nodes[static_cast<std::size_t>(edge.from)].id);
  }
  return nodes;
}

}  // namespace profiling
