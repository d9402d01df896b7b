// Hazard 13: programmatic edges whose consumer does not wait. Such an edge lets the consumer start
// while the producer still works; only griddepcontrol.wait in the consumer orders memory.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "profiling/hazards/model/names.h"
#include "profiling/hazards/rules/rules.h"

namespace profiling {
namespace {

using engine::AllocationRole;

Known waits(const SnapshotNode& node, EdgeKind kind) {
  const auto* kernel = std::get_if<KernelNode>(&node.parameters);
  if (kernel == nullptr) return node.type == NodeType::Kernel ? Known::Unknown : Known::No;
  // A wait does not help there: the edge does not depend on the producer's end.
  return kind == EdgeKind::LaunchOrder ? Known::No : kernel->waits_for_programmatic;
}

/// Memory that a step's kernels write. What the caller fills before a step is only read.
bool written_in_steps(AllocationRole role) {
  return role != AllocationRole::Input && role != AllocationRole::Splits &&
         role != AllocationRole::Check;
}

using MemoryOfNodes = std::map<int, std::vector<const Touch*>>;

MemoryOfNodes memory_of(const RuleContext& context, int graph) {
  MemoryOfNodes memory;
  for (const Touch& touch : context.touches(graph)) {
    const engine::Allocation* allocation = context.allocation(touch.allocation);
    if (allocation != nullptr && written_in_steps(allocation->role)) {
      memory[touch.node].push_back(&touch);
    }
  }
  return memory;
}

struct Edge {
  SnapshotEdge edge;
  std::vector<const Touch*> shared;
};

std::vector<const Touch*> shared_by(const MemoryOfNodes& memory, int from, int to) {
  const auto producer = memory.find(from);
  const auto consumer = memory.find(to);
  std::vector<const Touch*> shared;
  if (producer == memory.end() || consumer == memory.end()) return shared;
  std::set<int> of_producer;
  for (const Touch* touch : producer->second) of_producer.insert(touch->allocation);
  std::set<int> common;
  for (const Touch* touch : consumer->second) {
    if (!of_producer.contains(touch->allocation)) continue;
    common.insert(touch->allocation);
    shared.push_back(touch);
  }
  for (const Touch* touch : producer->second) {
    if (common.contains(touch->allocation)) shared.push_back(touch);
  }
  return shared;
}

/// Memory without a purpose may be a large segment of which each uses a part: then only the same
/// address is enough.
bool same_memory(const RuleContext& context, const Edge& edge) {
  return std::ranges::any_of(edge.shared, [&](const Touch* touch) {
    const AllocationRole role = context.allocation(touch->allocation)->role;
    if (role != AllocationRole::Unknown && !engine::foreign(role)) return true;
    return std::ranges::any_of(edge.shared, [&](const Touch* other) {
      return other->node != touch->node && other->word == touch->word;
    });
  });
}

std::optional<Confidence> confidence_of(const RuleContext& context, int graph, const Edge& edge) {
  const Known waited = waits(context.node({graph, edge.edge.to}), edge.edge.kind);
  if (waited == Known::Yes) return std::nullopt;
  if (!edge.shared.empty()) {
    return waited == Known::No && same_memory(context, edge) ? Confidence::Likely
                                                             : Confidence::Possible;
  }
  const bool memory_known = !context.graph(graph).degraded && !context.snapshot.ledger.empty();
  if (memory_known && waited == Known::Unknown) return std::nullopt;
  return Confidence::Possible;
}

Finding finding_of(const RuleContext& context, int graph, Confidence confidence,
                   const std::vector<Edge>& edges) {
  Finding finding{.rule = "programmatic-without-wait", .hazard = 13, .confidence = confidence};
  for (const Edge& edge : edges) {
    const NodeRef from{graph, edge.edge.from};
    const NodeRef to{graph, edge.edge.to};
    add_node(finding.nodes, from);
    add_node(finding.nodes, to);
    for (const Touch* touch : edge.shared)
      add_access(finding.accesses, context.access(graph, *touch));
    if (finding.proof.cures.ordered.size() < kMaxListed) {
      finding.proof.cures.ordered.push_back({from, to});
    }
  }
  const Edge& first = edges.front();
  const NodeRef from{graph, first.edge.from};
  const NodeRef to{graph, first.edge.to};
  finding.title = fmt::format(
      "{} may start before {} is done{}", context.text(to), context.text(from),
      edges.size() > 1 ? fmt::format(", and {} more such edges", edges.size() - 1) : "");
  finding.explanation = fmt::format(
      "The edge is of the kind \"{}\": it lets the consumer start as soon as the producer's blocks "
      "have started or triggered it. Without a wait in the consumer nothing makes the producer's "
      "writes visible to it. Results are correct only while the producer happens to be fast.",
      name_of(first.edge.kind));
  finding.missing_order =
      fmt::format("no full path between node {} and node {}", first.edge.from, first.edge.to);
  finding.evidence.push_back(waits(context.node(to), first.edge.kind) == Known::No
                                 ? "The consumer does not wait for such an edge."
                                 : "Whether the consumer waits is unknown.");
  if (const auto shared = std::find_if(edges.begin(), edges.end(),
                                       [](const Edge& edge) { return !edge.shared.empty(); });
      shared != edges.end()) {
    finding.evidence.push_back("Both hold addresses in " +
                               text(*context.allocation(shared->shared.front()->allocation)) + ".");
  }
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "Plain replays are compared with eager launches; then these edges are replaced by full ones.";
  return finding;
}

}  // namespace

void find_unwaited_edges(RuleContext& context, std::vector<Finding>& findings) {
  for (int g = 0; g < context.graphs(); ++g) {
    if (context.left_out(g) || context.too_large_to_order(g)) continue;
    const std::vector<SnapshotEdge>& edges = context.graph(g).edges;
    if (std::all_of(edges.begin(), edges.end(),
                    [](const SnapshotEdge& edge) { return edge.kind == EdgeKind::Full; })) {
      continue;
    }
    const MemoryOfNodes memory = memory_of(context, g);
    // One finding for all edges into kernels of one name.
    std::map<std::pair<Confidence, std::string>, std::vector<Edge>> found;
    for (const SnapshotEdge& edge : edges) {
      if (edge.kind == EdgeKind::Full || context.memory_order(g).before(edge.from, edge.to))
        continue;
      Edge made{.edge = edge, .shared = shared_by(memory, edge.from, edge.to)};
      const std::optional<Confidence> confidence = confidence_of(context, g, made);
      if (!confidence) continue;
      found[{*confidence, context.node({g, edge.to}).name}].push_back(std::move(made));
    }
    for (const auto& [key, of_kernel] : found) {
      findings.push_back(finding_of(context, g, key.first, of_kernel));
    }
  }
}

}  // namespace profiling
