#include "profiling/hazards/rules/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/model/projections.h"
#include "engine/program/operation_words.h"
#include "profiling/hazards/model/kernel_name.h"
#include "profiling/hazards/model/names.h"

namespace profiling {
namespace {

constexpr std::size_t kMaxOrderBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxNamed = 3;
constexpr std::size_t kMaxNameLength = 80;

/// Names of templates run to kilobytes; the table of nodes has them whole.
std::string short_name(const SnapshotNode& node) {
  const std::string name =
      node.name.empty() ? std::string(name_of(node.type)) : short_kernel_name(node.name);
  return name.size() <= kMaxNameLength ? name : name.substr(0, kMaxNameLength) + "...";
}

}  // namespace

RuleContext::RuleContext(const Snapshot& from, const std::vector<LibraryFact>& known)
    : snapshot(from), facts(known), segments_(from.ledger) {
  for (const GraphSnapshot& graph : snapshot.graphs) {
    by_name_.try_emplace(graph.name, static_cast<int>(touches_.size()));
    touches_.push_back(find_touches(snapshot, graph));
  }
}

int RuleContext::graph_named(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? -1 : found->second;
}

const Reachability& RuleContext::order(int graph, OrderedBy by) {
  std::unique_ptr<Reachability>& known = orders_[{graph, by}];
  if (known) return *known;
  auto made = std::make_unique<Reachability>(this->graph(graph), by);
  const std::size_t nodes = this->graph(graph).nodes.size();
  const std::size_t bytes = nodes * nodes / 8;
  if (order_bytes_ + bytes > kMaxOrderBytes) {
    orders_.clear();
    order_bytes_ = 0;
  }
  order_bytes_ += bytes;
  std::unique_ptr<Reachability>& kept = orders_[{graph, by}];
  kept = std::move(made);
  return *kept;
}

const Reachability& RuleContext::memory_order(int graph) { return order(graph, OrderedBy::Memory); }

const Reachability& RuleContext::any_order(int graph) {
  const std::vector<SnapshotEdge>& edges = this->graph(graph).edges;
  const bool all_full = std::all_of(edges.begin(), edges.end(), [](const SnapshotEdge& edge) {
    return edge.kind == EdgeKind::Full;
  });
  return order(graph, all_full ? OrderedBy::Memory : OrderedBy::AnyEdge);
}

bool RuleContext::in_graph_pool(const engine::Allocation& allocation) const {
  return is_pool_block(allocation) ||
         std::any_of(snapshot.pools.begin(), snapshot.pools.end(),
                     [&](const GraphPool& pool) { return pool.holds(allocation.address); });
}

std::string RuleContext::text(NodeRef ref) const {
  const SnapshotNode& at = node(ref);
  std::string words = fmt::format("node {} ({}", ref.node, short_name(at));
  if (at.stage != engine::Stage::Other) {
    words += engine::is_known(at.writes)
                 ? ", " + engine::operation_title(snapshot.step, at.stage, at.writes, at.layer)
                 : fmt::format(", {} of {}", engine::stage_name(at.stage),
                               engine::layer_words(snapshot.step, at.layer));
  }
  words += ")";
  if (graphs() > 1) words += fmt::format(" of graph \"{}\"", graph(ref.graph).name);
  return words;
}

std::string RuleContext::text(const std::vector<NodeRef>& nodes) const {
  std::string words;
  const std::size_t named = std::min(nodes.size(), kMaxNamed);
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) words += i + 1 == nodes.size() ? " and " : ", ";
    words += text(nodes[i]);
  }
  if (nodes.size() > named) words += fmt::format(" and {} more", nodes.size() - named);
  return words;
}

void add_node(std::vector<NodeRef>& nodes, NodeRef node) {
  const auto at = std::lower_bound(nodes.begin(), nodes.end(), node);
  if ((at != nodes.end() && *at == node) || nodes.size() >= kMaxListed) return;
  nodes.insert(at, node);
}

void add_access(std::vector<Access>& accesses, Access access) {
  if (accesses.size() >= kMaxListed) return;
  if (!accesses.empty() && accesses.back() == access) return;
  accesses.push_back(std::move(access));
}

Holders holders_of(const RuleContext& context) {
  Holders holders;
  for (int g = 0; g < context.graphs(); ++g) {
    if (context.left_out(g)) continue;
    for (const Touch& touch : context.touches(g)) {
      if (touch.allocation < 0 || touch.place == Touch::Place::Descriptor) continue;
      std::vector<int>& graphs = holders[touch.allocation];
      if (graphs.empty() || graphs.back() != g) graphs.push_back(g);
    }
  }
  return holders;
}

bool is_subjects_device_memory(const engine::Allocation& allocation) {
  return (allocation.space == engine::MemorySpace::Device ||
          allocation.space == engine::MemorySpace::Managed) &&
         allocation.role != engine::AllocationRole::Check;
}

bool share_bytes(const engine::Allocation& a, const engine::Allocation& b) {
  return a.address < b.address + b.bytes && b.address < a.address + a.bytes;
}

std::string text(const engine::Allocation& allocation) {
  const std::string name = allocation.owner.empty() ? "unnamed memory" : allocation.owner;
  const std::string size = size_text(allocation.bytes);
  if (allocation.role == engine::AllocationRole::Unknown)
    return fmt::format("\"{}\" ({})", name, size);
  return fmt::format("\"{}\" ({}, {})", name, name_of(allocation.role), size);
}

}  // namespace profiling
