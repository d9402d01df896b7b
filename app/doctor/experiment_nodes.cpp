#include "app/doctor/experiment_nodes.h"

#include <vector>

namespace app {
namespace {

using profiling::Experiment;
using profiling::MovedMemory;
using profiling::NodeRef;
using profiling::Snapshot;

bool same_node(const Snapshot& ours, const Snapshot& theirs, NodeRef ref) {
  const auto node_of = [ref](const Snapshot& snapshot) -> const profiling::SnapshotNode* {
    const auto graph = static_cast<std::size_t>(ref.graph);
    const auto node = static_cast<std::size_t>(ref.node);
    if (ref.graph < 0 || ref.node < 0 || graph >= snapshot.graphs.size()) return nullptr;
    if (node >= snapshot.graphs[graph].nodes.size()) return nullptr;
    return &snapshot.graphs[graph].nodes[node];
  };
  const profiling::SnapshotNode* here = node_of(ours);
  const profiling::SnapshotNode* there = node_of(theirs);
  return here != nullptr && there != nullptr && here->type == there->type &&
         here->name == there->name;
}

std::vector<NodeRef> named_nodes(const Experiment& experiment) {
  std::vector<NodeRef> nodes = experiment.delayed;
  for (const MovedMemory& moved : experiment.moved) nodes.push_back(moved.node);
  for (const auto& [first, second] : experiment.ordered) {
    nodes.push_back(first);
    nodes.push_back(second);
  }
  return nodes;
}

}  // namespace

std::optional<NodeRef> find_foreign_node(const Snapshot& ours, const Snapshot& theirs,
                                         const Experiment& experiment) {
  if (theirs.graphs.empty()) return std::nullopt;
  for (const NodeRef node : named_nodes(experiment)) {
    if (!same_node(ours, theirs, node)) return node;
  }
  return std::nullopt;
}

}  // namespace app
