#include "profiling/hazards/snapshot/earlier_allocations.h"

#include <utility>
#include <vector>

#include "profiling/hazards/snapshot/accesses.h"

namespace profiling {

void leave_out_earlier_allocations(Snapshot& snapshot, std::uint64_t since) {
  std::vector<bool> touched(snapshot.ledger.size());
  for (const GraphSnapshot& graph : snapshot.graphs) {
    for (const Touch& touch : find_touches(snapshot, graph)) {
      if (touch.allocation >= 0) touched[static_cast<std::size_t>(touch.allocation)] = true;
    }
  }
  std::vector<engine::Allocation> kept;
  for (std::size_t i = 0; i < snapshot.ledger.size(); ++i) {
    const engine::Allocation& allocation = snapshot.ledger[i];
    if (touched[i] || allocation.live() || allocation.freed_at > since) kept.push_back(allocation);
  }
  snapshot.ledger = std::move(kept);
}

}  // namespace profiling
