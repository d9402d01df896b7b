// Whether a word may be an address that a graph knows.
#pragma once

#include <cstdint>
#include <vector>

#include "profiling/hazards/snapshot/accesses.h"

namespace profiling {

/// Differences between such words are no differences between values.
class GraphAddresses {
 public:
  GraphAddresses(const Snapshot& snapshot, const GraphSnapshot& graph);

  bool may_hold(std::uint64_t word) const;

 private:
  AllocationIndex index_;
  std::vector<MemAllocNode> blocks_;
};

}  // namespace profiling
