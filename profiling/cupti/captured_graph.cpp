#include "profiling/cupti/captured_graph.h"

#include <algorithm>
#include <utility>

#include "engine/device/allocation_ledger.h"
#include "profiling/hazards/snapshot/foreign_memory.h"
#include "profiling/hazards/snapshot/graph_reader.h"
#include "profiling/trace/live_memory.h"

namespace profiling {

engine::Result<GraphSnapshot> read_graph(
    const engine::DriverApi& driver, const CuptiLibrary& cupti, CUgraph graph,
    const std::unordered_map<std::uint64_t, engine::WorkTag>& tags) {
  ENGINE_ASSIGN(ReadGraph read, read_captured_graph(driver, graph));
  GraphSnapshot snapshot = std::move(read.snapshot);
  for (std::size_t n = 0; n < snapshot.nodes.size(); ++n) {
    SnapshotNode& node = snapshot.nodes[n];
    if (const CUptiResult got = cupti.get_graph_node_id(read.handles[n], &node.id);
        got != CUPTI_SUCCESS) {
      return cupti.error(got, "Querying a graph node's id");
    }
    if (const auto tag = tags.find(node.id); tag != tags.end()) {
      node.stage = tag->second.stage;
      node.layer = tag->second.layer;
      node.writes = tag->second.writes;
    }
  }
  return snapshot;
}

std::vector<GraphNode> nodes_of(const GraphSnapshot& graph) {
  std::vector<GraphNode> nodes;
  for (const SnapshotNode& node : graph.nodes) {
    nodes.push_back({.id = node.id,
                     .name = node.name,
                     .stage = node.stage,
                     .layer = static_cast<std::uint8_t>(node.layer),
                     .writes = node.writes,
                     .dependencies = {}});
  }
  for (const SnapshotEdge& edge : graph.edges) {
    nodes[static_cast<std::size_t>(edge.to)].dependencies.push_back(
        nodes[static_cast<std::size_t>(edge.from)].id);
  }
  return nodes;
}

void add_recorded_memory(const std::vector<RawMemoryEvent>& events, Snapshot& snapshot) {
  if (snapshot.graphs.empty() || events.empty()) return;
  std::vector<MemoryEvent> in_order;
  for (const RawMemoryEvent& raw : events) in_order.push_back(raw.event);
  std::ranges::stable_sort(in_order, {}, &MemoryEvent::time_ns);
  // Buffers allocated since the capture belong to this project as well.
  const std::vector<engine::Allocation> own = engine::AllocationLedger::of_process().read();
  std::vector<ForeignRange> ranges;
  for (const LiveBlock& block : live_blocks(in_order)) {
    if (ranges.size() == kMaxRecordedBlocks) break;
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
