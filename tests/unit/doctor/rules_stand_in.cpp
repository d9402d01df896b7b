// Stands in for the judge, which these tests do not test.
#include "profiling/graph/diagnosis.h"

namespace profiling {

Confidence judge(const Proof& proof, Confidence before, const Outcome& shows,
                 const Outcome& cures) {
  if (shows.verdict == Verdict::NotRun) return before;
  if (shows.verdict == Verdict::Right) return Confidence::Disproved;
  if (!proof.needs_cure || cures.verdict == Verdict::Right) return Confidence::Proved;
  return before;
}

}  // namespace profiling
