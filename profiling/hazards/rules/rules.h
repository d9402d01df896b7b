// The rules, one function each. A rule adds its findings and reads only the context, so that each
// can be understood, tested and removed separately. Never Proved or Disproved.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profiling/hazards/model/finding.h"
#include "profiling/hazards/rules/diagnosis.h"
#include "profiling/hazards/snapshot/accesses.h"
#include "profiling/hazards/snapshot/reachability.h"
#include "profiling/hazards/snapshot/segments.h"

namespace profiling {

// The input of every rule: the snapshot, the addresses in its graphs, the order of its nodes and
// text to describe them. Built once per diagnosis.

class RuleContext {
 public:
  RuleContext(const Snapshot& from, const std::vector<LibraryFact>& known);

  const Snapshot& snapshot;
  const std::vector<LibraryFact>& facts;

  int graphs() const { return static_cast<int>(snapshot.graphs.size()); }
  const GraphSnapshot& graph(int index) const {
    return snapshot.graphs[static_cast<std::size_t>(index)];
  }
  /// A second capture after a change, which is compared and never replayed; or a graph that is
  /// over.
  bool left_out(int index) const { return graph(index).variant_of >= 0 || graph(index).over; }
  const SnapshotNode& node(NodeRef ref) const {
    return graph(ref.graph).nodes[static_cast<std::size_t>(ref.node)];
  }
  const std::vector<Touch>& touches(int graph) const {
    return touches_[static_cast<std::size_t>(graph)];
  }
  /// Null for -1.
  const engine::Allocation* allocation(int index) const {
    return index < 0 ? nullptr : &snapshot.ledger[static_cast<std::size_t>(index)];
  }
  /// Valid until the order of another graph is requested: those of large graphs are large, and
  /// only a limited number is kept.
  const Reachability& memory_order(int graph);
  const Reachability& any_order(int graph);
  /// Too large for order queries to finish in time: rules about order skip it.
  bool too_large_to_order(int index) const {
    return graph(index).nodes.size() > static_cast<std::size_t>(Reachability::kMaxClosure);
  }

  /// The memory stays the graphs' when it is released: what matters is the order of replays.
  bool in_graph_pool(const engine::Allocation& allocation) const;
  const Segments& segments() const { return segments_; }
  /// -1 = none has this name.
  int graph_named(const std::string& name) const;

  /// "node 7 (k_grouped, fprop of layer 0)"; with the graph's name if there are several.
  std::string text(NodeRef ref) const;
  /// "node 1, node 2 and 5 more".
  std::string text(const std::vector<NodeRef>& nodes) const;
  Access access(int graph, const Touch& touch) const { return to_access(snapshot, graph, touch); }

 private:
  const Reachability& order(int graph, OrderedBy by);

  Segments segments_;
  std::map<std::string, int> by_name_;
  std::vector<std::vector<Touch>> touches_;
  std::map<std::pair<int, OrderedBy>, std::unique_ptr<Reachability>> orders_;
  std::size_t order_bytes_ = 0;
};

/// Steps with more launches are not searched for what their order breaks.
inline constexpr std::size_t kMaxOrderedLaunches = 512;
/// Nor are pools whose pieces make more pairs; comparing these takes a fraction of a second.
inline constexpr std::int64_t kMaxPoolPairs = 20'000'000;
/// Maximum number of nodes and accesses listed in one finding.
inline constexpr std::size_t kMaxListed = 256;

/// Adds the node unless it is present or the list is full. Keeps the list sorted.
void add_node(std::vector<NodeRef>& nodes, NodeRef node);
void add_access(std::vector<Access>& accesses, Access access);

/// The graph that the memory went with: the one in whose capture it was made, else the first one
/// that used it, if that was destroyed before `graph` used the memory for the last time. Null =
/// none.
const GraphSnapshot* ended_owner(const RuleContext& context, int allocation, int graph);
/// A sentence about that graph, for the evidence.
std::string ownership(const engine::Allocation& allocation, const GraphSnapshot& owner);

/// "workspace of all products" in quotation marks, with its size and role.
std::string text(const engine::Allocation& allocation);

/// For allocations whose addresses graphs hold: these graphs, ascending. Without variants, and
/// without what may be a tensor map.
using Holders = std::map<int, std::vector<int>>;
Holders holders_of(const RuleContext& context);

/// In device memory, and not this project's own checks.
bool is_subjects_device_memory(const engine::Allocation& allocation);
bool share_bytes(const engine::Allocation& a, const engine::Allocation& b);

/// Released after one of the graphs had been captured and before another was.
bool freed_between(const RuleContext& context, const engine::Allocation& allocation,
                   const std::vector<int>& graphs);

void find_shared_workspaces(RuleContext& context, std::vector<Finding>& findings);
void find_freed_memory(RuleContext& context, std::vector<Finding>& findings);
void find_pool_aliases(RuleContext& context, std::vector<Finding>& findings);
void find_memory_freed_between_graphs(RuleContext& context, std::vector<Finding>& findings);
void find_overlapping_graphs(RuleContext& context, std::vector<Finding>& findings);
void find_replay_order(RuleContext& context, std::vector<Finding>& findings);
void find_host_sources(RuleContext& context, std::vector<Finding>& findings);
void find_baked_values(RuleContext& context, std::vector<Finding>& findings);
void find_frozen_values(RuleContext& context, std::vector<Finding>& findings);
void find_unreset_counters(RuleContext& context, std::vector<Finding>& findings);
void find_unfreed_allocations(RuleContext& context, std::vector<Finding>& findings);
void find_uses_after_free_nodes(RuleContext& context, std::vector<Finding>& findings);
void find_unwaited_edges(RuleContext& context, std::vector<Finding>& findings);
void find_unordered_accesses(RuleContext& context, std::vector<Finding>& findings);
void find_capture_mistakes(RuleContext& context, std::vector<Finding>& findings);
void find_other_threads(RuleContext& context, std::vector<Finding>& findings);
void find_unloaded_modules(RuleContext& context, std::vector<Finding>& findings);
void find_destroyed_communicators(RuleContext& context, std::vector<Finding>& findings);
void find_mistakes_in_memory(RuleContext& context, std::vector<Finding>& findings);

/// How to fix a rule's finding, in words and as code for three libraries.
Fix fix_of(const std::string& rule);

}  // namespace profiling
