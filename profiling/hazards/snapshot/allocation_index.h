// Which allocation an address in a captured graph means: the smallest one that holds it, of those
// that were there while the graph was captured.
#pragma once

#include <cstdint>
#include <vector>

#include "profiling/hazards/model/snapshot.h"

namespace profiling {

class AllocationIndex {
 public:
  /// For one graph of the snapshot. Allocations that came after its capture are left out, since no
  /// node of it can mean them; released ones stay, and give way to a live one of the same size.
  AllocationIndex(const Snapshot& snapshot, const GraphSnapshot& graph);

  /// Index into Snapshot::ledger; -1 = none holds it.
  int find(std::uint64_t word) const;

 private:
  struct Segment {
    std::uint64_t begin = 0;  // up to the next segment's
    int allocation = -1;
  };
  std::vector<Segment> segments_;  // ascending
};

}  // namespace profiling
