#include "profiling/hazards/snapshot/graph_addresses.h"

#include <algorithm>
#include <variant>

namespace profiling {

GraphAddresses::GraphAddresses(const Snapshot& snapshot, const GraphSnapshot& graph)
    : index_(snapshot, graph) {
  for (const SnapshotNode& node : graph.nodes) {
    const auto* allocates = std::get_if<MemAllocNode>(&node.parameters);
    if (allocates != nullptr) blocks_.push_back(*allocates);
  }
}

bool GraphAddresses::may_hold(std::uint64_t word) const {
  // Where Linux maps memory that may not be in the ledger.
  constexpr std::uint64_t kMappings = 0x7000'0000'0000;
  if (word >= kMappings && word >> 47 == 0) return true;
  if (index_.find(word) >= 0) return true;
  return std::any_of(blocks_.begin(), blocks_.end(), [&](const MemAllocNode& block) {
    return word >= block.address && word - block.address < block.bytes;
  });
}

}  // namespace profiling
