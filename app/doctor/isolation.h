// Which memory must move so that replays are right: the candidates, and the search for their
// smallest set. Knows nothing of workers: the effect of a set is queried through a function.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/finding.h"
#include "profiling/hazards/model/snapshot.h"

namespace app {

/// A finding that memory is in the wrong place: its cure moves some.
bool concerns_memory(const profiling::Finding& finding);

/// The memory that the finding says is shared or freed: its cure's moves, and each access of its
/// nodes to an owner that the cure moves. Ascending, no duplicates.
std::vector<profiling::MovedMemory> candidates_of(const profiling::Finding& finding);

/// Every kernel node with the address of a workspace among its arguments, except in variants of a
/// graph. For wrong replays that no rule explains.
std::vector<profiling::MovedMemory> workspace_references(const profiling::Snapshot& snapshot);

std::vector<profiling::MovedMemory> united(const std::vector<profiling::MovedMemory>& left,
                                           const std::vector<profiling::MovedMemory>& right);
std::vector<profiling::MovedMemory> without(const std::vector<profiling::MovedMemory>& all,
                                            const std::vector<profiling::MovedMemory>& taken);

/// True if replays are right with this set moved; empty = stop (cancelled, or no trials left).
using CuresReplays = std::function<std::optional<bool>(const std::vector<profiling::MovedMemory>&)>;

struct Isolation {
  std::vector<profiling::MovedMemory> set;
  bool smallest = false;  // no smaller set cures; false: the search was stopped
};

/// Reduces `cure`, which is known to cure: delta debugging until no element can be left out, then
/// every smaller set of `candidates` if there are at most `small_trials` of them.
Isolation isolate(const std::vector<profiling::MovedMemory>& cure,
                  const std::vector<profiling::MovedMemory>& candidates, std::size_t small_trials,
                  const CuresReplays& cures);

}  // namespace app
