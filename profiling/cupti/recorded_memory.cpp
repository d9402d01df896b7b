#include "profiling/cupti/recorded_memory.h"

#include <algorithm>

#include "engine/device/allocation_ledger.h"
#include "profiling/hazards/snapshot/foreign_memory.h"
#include "profiling/trace/live_memory.h"

namespace profiling {

void add_recorded_memory(const std::vector<RawMemoryEvent>& events, Snapshot& snapshot) {
  if (snapshot.graphs.empty() || events.empty()) return;
  std::vector<MemoryEvent> in_order;
  for (const RawMemoryEvent& raw : events) in_order.push_back(raw.event);
  std::ranges::stable_sort(in_order, {}, &MemoryEvent::time_ns);
  // Buffers allocated since the capture are ours as well.
  const std::vector<engine::Allocation> own = engine::AllocationLedger::of_process().read();
  std::vector<ForeignRange> ranges;
  for (const LiveBlock& block : live_blocks(in_order)) {
    if (ranges.size() == kMostRecordedBlocks) break;
    const bool ours = std::ranges::any_of(own, [&](const engine::Allocation& allocation) {
      return allocation.live() && allocation.address < block.address + block.bytes &&
             block.address < allocation.address + allocation.bytes;
    });
    if (!ours) {
      ranges.push_back({.address = block.address, .bytes = block.bytes, .space = block.space});
    }
  }
  add_foreign_memory(snapshot, ranges, engine::AllocationRole::RecordKnown);
}

}  // namespace profiling
