#include "profiling/hazards/rules/diagnosis.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "profiling/hazards/model/snapshot.h"
#include "profiling/hazards/rules/rules.h"

namespace profiling {
namespace {

using Rule = void (*)(RuleContext&, std::vector<Finding>&);

constexpr Rule kRules[] = {find_shared_workspaces,  find_freed_memory,
                           find_pool_aliases,       find_memory_freed_between_graphs,
                           find_overlapping_graphs, find_replay_order,
                           find_host_sources,       find_baked_values,
                           find_unreset_counters,   find_unfreed_allocations,
                           find_unwaited_edges,     find_unordered_accesses,
                           find_capture_mistakes};

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

Confidence judge(const Proof& proof, Confidence before, const Outcome& shows,
                 const Outcome& cures) {
  if (shows.verdict == Verdict::NotRun) return before;
  if (shows.verdict == Verdict::Right) return Confidence::Disproved;
  if (!proof.needs_cure || cures.verdict == Verdict::Right) return Confidence::Proved;
  return before;
}

}  // namespace profiling
