// Which allocation an address in a captured graph refers to: the smallest one that contains it, of
// those that existed while the graph was captured.
#pragma once

#include <cstdint>
#include <vector>

#include "profiling/hazards/model/snapshot.h"

namespace profiling {

class AllocationIndex {
 public:
  /// For one graph of the snapshot. Allocations made after its capture are left out, since none of
  /// its nodes can refer to them; released ones are kept, but a live one of the same size wins.
  AllocationIndex(const Snapshot& snapshot, const GraphSnapshot& graph);

  /// Index into Snapshot::ledger; -1 = none contains it.
  int find(std::uint64_t word) const;

 private:
  struct Segment {
    std::uint64_t begin = 0;  // up to the next segment's
    int allocation = -1;
  };
  std::vector<Segment> segments_;  // ascending
};

}  // namespace profiling
