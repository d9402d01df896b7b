#include <bit>
#include <span>
#include <utility>

#include "profiling/session/byte_blob.h"
#include "profiling/session/doctor_schema.h"
#include "profiling/session/snapshot_tables.h"

namespace profiling {
namespace {

// Slots go into the file as they lie in memory: offset, bytes, little-endian.
static_assert(sizeof(ParameterSlot) == 8 && std::endian::native == std::endian::little);

std::vector<std::byte> blob_of(std::span<const std::byte> bytes) {
  return bytes.empty() ? std::vector<std::byte>{} : compress_bytes(bytes);
}

/// One row for every node, and one with its parameters in the table of their kind.
class NodeWriter {
 public:
  NodeWriter(const Target& to, std::int64_t snapshot_id)
      : snapshot_(snapshot_id),
        nodes_(to, "snapshot_nodes", 9),
        kernels_(to, "snapshot_kernels", 20),
        memsets_(to, "snapshot_memsets", 9),
        copies_(to, "snapshot_copies", 8),
        memory_(to, "snapshot_memory", 6) {}

  void write(std::int64_t graph, std::int64_t index, const SnapshotNode& node) {
    graph_ = graph;
    node_ = index;
    nodes_.row(snapshot_, graph, index, static_cast<int>(node.type), node.id, node.name,
               static_cast<int>(node.stage), node.layer, node.parent);
    std::visit([this](const auto& parameters) { write(parameters); }, node.parameters);
  }
  engine::Status take() {
    for (TableWriter* table : {&nodes_, &kernels_, &memsets_, &copies_, &memory_}) {
      if (engine::Status status = table->take(); !status.ok()) return status;
    }
    return {};
  }

 private:
  void write(const std::monostate&) {}
  void write(const KernelNode& kernel) {
    kernels_.row(snapshot_, graph_, node_, kernel.function, kernel.grid.x, kernel.grid.y,
                 kernel.grid.z, kernel.block.x, kernel.block.y, kernel.block.z, kernel.cluster.x,
                 kernel.cluster.y, kernel.cluster.z, kernel.dynamic_shared_bytes,
                 kernel.cooperative, static_cast<int>(kernel.waits_for_programmatic),
                 kernel.parameters.size(), kernel.slots.size(), blob_of(kernel.parameters),
                 blob_of(std::as_bytes(std::span(kernel.slots))));
  }
  void write(const MemsetNode& memset) {
    memsets_.row(snapshot_, graph_, node_, memset.address, memset.value, memset.element_bytes,
                 memset.width, memset.height, memset.pitch);
  }
  void write(const MemcpyNode& copy) {
    copies_.row(snapshot_, graph_, node_, static_cast<int>(copy.source_space),
                static_cast<int>(copy.target_space), copy.source, copy.target, copy.bytes);
  }
  void write(const MemAllocNode& allocation) {
    memory_.row(snapshot_, graph_, node_, kMemoryOperations[0], allocation.address,
                allocation.bytes);
  }
  void write(const MemFreeNode& release) {
    memory_.row(snapshot_, graph_, node_, kMemoryOperations[1], release.address, 0);
  }

  std::int64_t snapshot_;
  std::int64_t graph_ = 0;
  std::int64_t node_ = 0;
  TableWriter nodes_;
  TableWriter kernels_;
  TableWriter memsets_;
  TableWriter copies_;
  TableWriter memory_;
};

engine::Status write_graphs(const Target& to, std::int64_t id, const Snapshot& snapshot) {
  TableWriter graphs(to, "snapshot_graphs", 11);
  TableWriter edges(to, "snapshot_edges", 6);
  TableWriter events(to, "snapshot_events", 5);
  NodeWriter nodes(to, id);
  std::int64_t number = 0;
  for (const GraphSnapshot& graph : snapshot.graphs) {
    graphs.row(id, number, graph.name, graph.variant_of, graph.changed, graph.degraded,
               graph.capture_began, graph.capture_ended, graph.failure.code, graph.failure.name,
               graph.failure.call);
    std::int64_t position = 0;
    for (const SnapshotNode& node : graph.nodes) nodes.write(number, position++, node);
    position = 0;
    for (const SnapshotEdge& edge : graph.edges) {
      edges.row(id, number, position++, edge.from, edge.to, static_cast<int>(edge.kind));
    }
    position = 0;
    for (const CaptureEvent& event : graph.events) {
      events.row(id, number, position++, static_cast<int>(event.kind), event.what);
    }
    ++number;
  }
  engine::Status status = nodes.take();
  for (TableWriter* table : {&graphs, &edges, &events}) {
    if (status.ok()) status = table->take();
  }
  return status;
}

}  // namespace

engine::Status write_snapshot(const Target& to, std::int64_t snapshot_id, SnapshotOwner owner,
                              const Snapshot& snapshot) {
  TableWriter snapshots(to, "snapshots", 9);
  snapshots.row(snapshot_id, kSnapshotOwners[owner.visit ? 1 : 0], owner.id, snapshot.subject,
                snapshot.cublaslt_version, snapshot.device, snapshot.compute_capability,
                snapshot.driver, snapshot.ledger_clock);
  TableWriter allocations(to, "allocations", 10);
  std::int64_t position = 0;
  for (const engine::Allocation& allocation : snapshot.ledger) {
    allocations.row(snapshot_id, position++, allocation.id, allocation.address, allocation.bytes,
                    static_cast<int>(allocation.space), static_cast<int>(allocation.role),
                    allocation.owner, allocation.allocated_at, allocation.freed_at);
  }
  engine::Status status = snapshots.take();
  if (status.ok()) status = allocations.take();
  return status.ok() ? write_graphs(to, snapshot_id, snapshot) : status;
}

}  // namespace profiling
