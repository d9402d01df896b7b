#include "profiling/graph/diagnosis.h"

#include <algorithm>

#include "profiling/graph/rules/rules.h"

namespace profiling {
namespace {

bool comes_first(const Finding& a, const Finding& b) {
  if (a.confidence != b.confidence) return a.confidence > b.confidence;
  return a.nodes < b.nodes;
}

}  // namespace

std::vector<Finding> diagnose(const Snapshot& snapshot, const std::vector<LibraryFact>& facts) {
  RuleContext context(snapshot, facts);
  std::vector<Finding> findings;
  for (const auto rule : {find_shared_workspaces}) {
    rule(context, findings);
  }
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
