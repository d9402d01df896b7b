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

/// In how many compared replays one piece of memory was found changed. Only those are counted in
/// which it had its owner.
struct MemoryChanges {
  std::size_t replays = 0;     // 0 = it was not compared
  std::size_t by_replays = 0;  // changed in so many of them
  std::size_t preceded = 0;    // of them: successive()
  std::size_t by_program = 0;  // changed before so many of these, since the replay before
  bool operator==(const MemoryChanges&) const = default;
};
/// Of each allocation of the ledger; empty = no replay of the graph was compared. What the graph
/// reaches counts as its own until somebody else gets it, even if it was released before.
/// `reached`: as below.
std::vector<MemoryChanges> memory_changes(const Snapshot& snapshot, const GraphSnapshot& graph,
                                          const std::vector<int>& reached);

/// "8 of 9"; "" = it was not compared.
std::string by_replays_text(const MemoryChanges& changes);
std::string by_program_text(const MemoryChanges& changes);

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
MeasuredMemory measured_memory(const Snapshot& snapshot, const GraphSnapshot& graph);

/// "6 replays compared in 3 MiB: the newest changed 1 place (4 KiB) and reaches 1 input (1 MiB)
/// that none changes, refreshed before 5 of them".
std::string words_of(const MeasuredMemory& measured);

/// "replays 2 to 9, 17 and 33"; there is at least one.
std::string replays_text(const std::vector<const ComparedReplay*>& replays);

/// Which replays were compared, how many bytes, and what was not: one to three sentences; empty =
/// nothing was compared, and nobody asked for it.
std::string compared_sentences(const Snapshot& snapshot, const GraphSnapshot& graph);
/// "Graphs of another context are not compared."; empty = all replays are compared.
std::string not_compared_sentence(const Snapshot& snapshot);

}  // namespace profiling
