#include "app/doctor/experiment_title.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace app {
namespace {

constexpr std::size_t kNamedNodes = 3;

/// The graphs that make up a step, without their second captures.
std::ptrdiff_t graphs_of_step(const profiling::Snapshot& snapshot) {
  return std::ranges::count_if(snapshot.graphs,
                               [](const auto& graph) { return graph.variant_of < 0; });
}

/// Several nodes of one product have the same stage and layer.
bool alone_in_stage(const profiling::GraphSnapshot& graph, const profiling::SnapshotNode& node) {
  return 1 == std::ranges::count_if(graph.nodes, [&](const profiling::SnapshotNode& other) {
           return other.type == node.type && other.stage == node.stage && other.layer == node.layer;
         });
}

std::string listed(const profiling::Snapshot& snapshot,
                   const std::vector<profiling::NodeRef>& nodes) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < nodes.size() && i < kNamedNodes; ++i) {
    names.push_back(node_title(snapshot, nodes[i]));
  }
  const std::string list = fmt::format("{}", fmt::join(names, " and "));
  return nodes.size() <= kNamedNodes
             ? list
             : fmt::format("{} and {} more", list, nodes.size() - kNamedNodes);
}

std::string times(int count) { return count == 3 ? "three times" : fmt::format("{} times", count); }

}  // namespace

std::string node_title(const profiling::Snapshot& snapshot, profiling::NodeRef node) {
  const auto graph_index = static_cast<std::size_t>(node.graph);
  const auto node_index = static_cast<std::size_t>(node.node);
  if (node.graph < 0 || node.node < 0 || graph_index >= snapshot.graphs.size() ||
      node_index >= snapshot.graphs[graph_index].nodes.size()) {
    return fmt::format("node {}", node.node);
  }
  const profiling::GraphSnapshot& graph = snapshot.graphs[graph_index];
  const profiling::SnapshotNode& named = graph.nodes[node_index];
  std::string title;
  if (named.stage == engine::Stage::Other) {
    title = fmt::format("{} (node {})", named.name, node.node);
  } else {
    title = fmt::format("{}, layer {}", engine::stage_name(named.stage), named.layer);
    if (!alone_in_stage(graph, named)) title += fmt::format(" (node {})", node.node);
  }
  if (graphs_of_step(snapshot) > 1) title += " of " + graph.name;
  return title;
}

std::string experiment_title(const profiling::Snapshot& snapshot,
                             const profiling::Experiment& experiment) {
  std::vector<std::string> parts;
  if (!experiment.graph) parts.push_back("eager, " + times(experiment.replays));
  if (experiment.graph && experiment.replays == 0) {
    parts.emplace_back("captured only, loading watched");
  }
  if (!experiment.moved.empty()) {
    std::vector<profiling::NodeRef> nodes;
    for (const profiling::MovedMemory& moved : experiment.moved) nodes.push_back(moved.node);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    parts.push_back("moved memory of " + listed(snapshot, nodes));
  }
  for (const profiling::FilledMemory& filled : experiment.filled) {
    parts.push_back(fmt::format("{} filled with {:#04x}", filled.owner, filled.value));
  }
  if (experiment.poisoned_workspaces >= 0) {
    parts.push_back(fmt::format("workspaces filled with {:#04x}", experiment.poisoned_workspaces));
  }
  if (experiment.changed_inputs) parts.emplace_back("other inputs from replay 2 on");
  if (experiment.recaptured) parts.emplace_back("captured again after the change");
  if (experiment.scribbled_host) parts.emplace_back("host memory overwritten after the capture");
  if (experiment.moved_inputs) {
    parts.emplace_back(experiment.patched_host
                           ? "inputs in other memory from replay 2 on, addresses on the host too"
                           : "inputs in other memory from replay 2 on");
  }
  if (!experiment.delayed.empty()) {
    parts.push_back(listed(snapshot, experiment.delayed) + " delayed");
  }
  for (const auto& [first, second] : experiment.ordered) {
    parts.push_back(
        fmt::format("{} waits for {}", node_title(snapshot, second), node_title(snapshot, first)));
  }
  if (experiment.free_on_launch) parts.emplace_back("unfreed memory freed by the next launch");
  if (experiment.red_zones) parts.emplace_back("red zones around every buffer");
  if (experiment.eager_loading) parts.emplace_back("all kernels loaded before the capture");
  return parts.empty() ? "replayed" : fmt::format("{}", fmt::join(parts, "; "));
}

bool is_plain(const profiling::Experiment& experiment) {
  profiling::Experiment plain;
  plain.deadline_seconds = experiment.deadline_seconds;
  plain.markers = experiment.markers;
  // The number of replays is not a change of the graph; with zero it is a different experiment.
  if (experiment.replays > 0) plain.replays = experiment.replays;
  return experiment == plain;
}

}  // namespace app
