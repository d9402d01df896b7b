// Which memory must move so that replays are right: the candidates, and the search for the smallest
// set of them. Knows nothing of workers: what a set does is asked of a function.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/finding.h"
#include "profiling/hazards/model/snapshot.h"

namespace app {

/// A finding that says that memory is in the wrong place: its cure moves some.
bool concerns_memory(const profiling::Finding& finding);

/// What the finding says is shared or gone: its cure's moves, and each access of its nodes to an
/// owner that the cure moves. Ascending, no duplicates.
std::vector<profiling::MovedMemory> candidates_of(const profiling::Finding& finding);

/// Every kernel node with the address of a workspace among its arguments, variants of a graph left
/// out. For replays that are wrong although no rule says why.
std::vector<profiling::MovedMemory> workspace_references(const profiling::Snapshot& snapshot);

std::vector<profiling::MovedMemory> united(const std::vector<profiling::MovedMemory>& left,
                                           const std::vector<profiling::MovedMemory>& right);
std::vector<profiling::MovedMemory> without(const std::vector<profiling::MovedMemory>& all,
                                            const std::vector<profiling::MovedMemory>& taken);

/// True if replays are right with this set moved; empty = stop (cancelled, or no more trials).
using CuresReplays = std::function<std::optional<bool>(const std::vector<profiling::MovedMemory>&)>;

struct Isolation {
  std::vector<profiling::MovedMemory> set;
  bool smallest = false;  // no smaller set cures; false: the search was stopped
};

/// From `cure`, which is known to cure, to a smaller set: delta debugging until nothing of it can
/// be left out, then every smaller set of `candidates` if these are at most `small_trials`.
Isolation isolate(const std::vector<profiling::MovedMemory>& cure,
                  const std::vector<profiling::MovedMemory>& candidates, std::size_t small_trials,
                  const CuresReplays& cures);

}  // namespace app
