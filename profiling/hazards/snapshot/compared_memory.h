// What comparisons of memory before and after replays have measured of one graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profiling/hazards/model/snapshot.h"
#include "profiling/hazards/snapshot/accesses.h"

namespace profiling {

bool overlaps(const ChangedMemory& changed, const engine::Allocation& memory);

/// The memory that a graph's addresses reach, as indices into the ledger, ascending. Of a segment
/// and a tensor in it, both.
std::vector<int> reached_memory(const std::vector<Touch>& touches);

/// In some compared replay.
bool ever_written(const GraphSnapshot& graph, const engine::Allocation& memory);

/// Comparisons of a replay whose predecessor was compared too, ascending: what changed before
/// others may be the work of replays that were not. Without those that missed something.
std::vector<const ComparedReplay*> successive(const GraphSnapshot& graph);

struct MeasuredMemory {
  std::size_t replays = 0;          // that were compared
  std::uint64_t hashed_bytes = 0;   // before and after the newest of them
  bool partial = false;             // it missed something
  std::size_t written_places = 0;   // of the newest
  std::uint64_t written_bytes = 0;  // that they have; some may have stayed
  std::size_t inputs = 0;  // allocations that the graph reaches and no compared replay wrote
  std::uint64_t input_bytes = 0;
  std::size_t refreshed = 0;  // replays after their compared predecessor, before which one changed
};
/// The graph's memory was compared at least once.
MeasuredMemory measured_memory(const Snapshot& snapshot, const GraphSnapshot& graph);

/// "6 replays compared in 3 MiB: the newest changed 1 place (4 KiB) and reaches 1 input (1 MiB)
/// that none changes, refreshed before 5 of them".
std::string words_of(const MeasuredMemory& measured);

}  // namespace profiling
