#include "profiling/hazards/rules/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "profiling/hazards/model/snapshot.h"
#include "profiling/hazards/rules/rules.h"
#include "profiling/hazards/snapshot/launch_order.h"

namespace profiling {
namespace {

using Rule = void (*)(RuleContext&, std::vector<Finding>&);

constexpr Rule kRules[] = {find_shared_workspaces,   find_freed_memory,
                           find_pool_aliases,        find_memory_freed_between_graphs,
                           find_overlapping_graphs,  find_replay_order,
                           find_host_sources,        find_baked_values,
                           find_frozen_values,       find_unreset_counters,
                           find_unfreed_allocations, find_uses_after_free_nodes,
                           find_unwaited_edges,      find_unordered_accesses,
                           find_capture_mistakes,    find_other_threads,
                           find_unloaded_modules,    find_destroyed_communicators,
                           find_mistakes_in_memory};

bool comes_first(const Finding& a, const Finding& b) {
  if (a.confidence != b.confidence) return a.confidence > b.confidence;
  return a.nodes < b.nodes;
}

/// Memory allocated elsewhere may be used in ways that the rules do not know.
void doubt_foreign_memory(const Snapshot& snapshot, std::vector<Finding>& findings) {
  std::set<std::string_view> owners;
  for (const engine::Allocation& allocation : snapshot.ledger) {
    if (engine::foreign(allocation.role)) owners.insert(allocation.owner);
  }
  if (owners.empty()) return;
  for (Finding& finding : findings) {
    const auto access = std::ranges::find_if(
        finding.accesses, [&](const Access& touched) { return owners.contains(touched.owner); });
    if (access == finding.accesses.end()) continue;
    finding.confidence = Confidence::Possible;
    finding.evidence.push_back("\"" + access->owner +
                               "\" does not belong to this program: its purpose is unknown.");
  }
}

}  // namespace

std::vector<Finding> diagnose(const Snapshot& snapshot, const std::vector<LibraryFact>& facts) {
  if (!check_snapshot(snapshot).ok()) return {};
  RuleContext context(snapshot, facts);
  std::vector<Finding> findings;
  for (const Rule rule : kRules) rule(context, findings);
  doubt_foreign_memory(snapshot, findings);
  std::stable_sort(findings.begin(), findings.end(), comes_first);
  return findings;
}

std::vector<std::string> left_unsearched(const Snapshot& snapshot) {
  std::vector<std::string> words;
  for (const GraphSnapshot& graph : snapshot.graphs) {
    const std::size_t nodes = graph.nodes.size();
    if (graph.variant_of >= 0 || nodes <= std::size_t{Reachability::kMaxClosure}) continue;
    words.push_back(fmt::format(
        "graph \"{}\" for accesses without order and for programmatic edges, because it has {} "
        "nodes, more than {}",
        graph.name, nodes, int{Reachability::kMaxClosure}));
  }
  const std::size_t launches = launches_of(snapshot).size();
  if (launches > kMaxOrderedLaunches) {
    words.push_back(fmt::format("the order of the launches, because there are {}, more than {}",
                                launches, kMaxOrderedLaunches));
  }
  const auto pieces = std::ranges::count_if(snapshot.ledger, [&](const engine::Allocation& one) {
    return std::ranges::any_of(snapshot.pools,
                               [&](const GraphPool& pool) { return pool.holds(one.address); });
  });
  if (std::int64_t{pieces} * pieces > kMaxPoolPairs) {
    words.push_back(fmt::format(
        "the pieces of the pools for replays out of order, if graphs hold more than {} of the {}",
        static_cast<int>(std::sqrt(static_cast<double>(kMaxPoolPairs))), pieces));
  }
  return words;
}

Confidence judge(const Proof& proof, Confidence before, const Outcome& shows,
                 const Outcome& cures) {
  if (shows.verdict == Verdict::NotRun) return before;
  if (shows.verdict == Verdict::Right) return Confidence::Disproved;
  if (!proof.needs_cure || cures.verdict == Verdict::Right) return Confidence::Proved;
  return before;
}

}  // namespace profiling
