// Reads snapshots table by table, each in key order, so that every row finds its place made by the
// tables before it.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "profiling/session/byte_blob.h"
#include "profiling/session/doctor_schema.h"
#include "profiling/session/snapshot_tables.h"
#include "profiling/session/table_cells.h"

namespace profiling {
namespace {

constexpr std::int64_t kMax32 = std::numeric_limits<std::uint32_t>::max();

/// Addresses and clocks: unsigned 64 bits, kept as signed.
std::uint64_t word(RowReader& rows, const char* column) {
  return rows.integer<std::uint64_t>(column, RowReader::kAnyLow, RowReader::kAnyHigh);
}

bool flag(RowReader& rows, const char* column) { return rows.integer<int>(column, 0, 1) == 1; }

template <class Enum>
Enum number_of(RowReader& rows, const char* column, Enum last) {
  return static_cast<Enum>(rows.integer<int>(column, 0, static_cast<int>(last)));
}

/// The read snapshots by their numbers, and the walk over a table of theirs.
class Reading {
 public:
  Reading(const TableSource& source, Session& session) : source_(source), session_(session) {}

  engine::Status read_heads();
  engine::Status read_allocations();
  engine::Status read_graphs();
  engine::Status read_nodes();
  engine::Status read_kernels();
  engine::Status read_others();
  engine::Status read_edges();
  engine::Status read_events();

 private:
  RowReader open(const char* table, const char* query, std::size_t bytes_per_row) {
    return RowReader(source_.database, source_.path, table, query, source_.budget, bytes_per_row);
  }
  Snapshot* owner_of(RowReader& rows);
  /// Visits every row with its snapshot.
  template <class Visit>
  engine::Status each(RowReader rows, Visit visit) {
    while (rows.next()) {
      const auto id = rows.integer<std::int64_t>("snapshot_id", 1, std::ssize(snapshots_));
      if (rows.ok()) visit(*snapshots_[static_cast<std::size_t>(id - 1)], rows);
    }
    return rows.take();
  }
  /// Visits every row with its graph.
  template <class Visit>
  engine::Status each_of_graph(RowReader table, Visit visit) {
    return each(std::move(table), [&](Snapshot& snapshot, RowReader& rows) {
      const auto graph = rows.integer<std::size_t>("graph", 0, std::ssize(snapshot.graphs) - 1);
      if (rows.ok()) visit(snapshot.graphs[graph], rows);
    });
  }
  /// Visits every row with its node, which must have no parameters yet.
  template <class Visit>
  engine::Status each_of_node(RowReader table, Visit visit) {
    return each_of_graph(std::move(table), [&](GraphSnapshot& graph, RowReader& rows) {
      const auto index = rows.integer<std::size_t>("node", 0, std::ssize(graph.nodes) - 1);
      if (!rows.ok()) return;
      SnapshotNode& node = graph.nodes[index];
      if (!std::holds_alternative<std::monostate>(node.parameters)) {
        return rows.refuse(fmt::format("node {} has parameters of two kinds", index));
      }
      visit(node, rows);
    });
  }
  std::vector<std::byte> bytes_of(RowReader& rows, const char* column, std::size_t size);

  const TableSource& source_;
  Session& session_;
  std::vector<Snapshot*> snapshots_;
};

Snapshot* Reading::owner_of(RowReader& rows) {
  const bool of_visit = rows.choice("owner", kSnapshotOwners) == 1;
  const std::int64_t count = of_visit ? std::ssize(session_.visits) : std::ssize(session_.runs);
  const auto id = rows.integer<std::int64_t>("owner_id", 1, count);
  if (!rows.ok()) return nullptr;
  const auto index = static_cast<std::size_t>(id - 1);
  Snapshot* const snapshot =
      of_visit ? &session_.visits[index].report.snapshot : &session_.runs[index].snapshot;
  for (const Snapshot* other : snapshots_) {
    if (other != snapshot) continue;
    rows.refuse(fmt::format("{} {} has two snapshots", of_visit ? "visit" : "run", id));
    return nullptr;
  }
  return snapshot;
}

engine::Status Reading::read_heads() {
  RowReader rows = open("snapshots", "SELECT * FROM snapshots ORDER BY snapshot_id", 0);
  while (rows.next()) {
    const auto id = rows.integer<std::int64_t>("snapshot_id", 1, RowReader::kAnyHigh);
    if (rows.ok() && id != std::ssize(snapshots_) + 1) {
      rows.refuse(fmt::format("snapshot_id is {} where {} comes next", id, snapshots_.size() + 1));
    }
    Snapshot* const snapshot = rows.ok() ? owner_of(rows) : nullptr;
    if (snapshot == nullptr) break;
    snapshot->subject = rows.text("subject");
    snapshot->cublaslt_version = rows.text("cublaslt_version");
    snapshot->device = rows.text("device");
    snapshot->compute_capability = rows.text("compute_capability");
    snapshot->driver = rows.text("driver");
    snapshot->ledger_clock = word(rows, "ledger_clock");
    snapshots_.push_back(snapshot);
  }
  return rows.take();
}

engine::Status Reading::read_allocations() {
  return each(open("allocations", "SELECT * FROM allocations ORDER BY snapshot_id, position",
                   sizeof(engine::Allocation)),
              [](Snapshot& snapshot, RowReader& rows) {
                if (!at_next(rows, "position", snapshot.ledger.size(), kMaxAllocations)) return;
                engine::Allocation allocation;
                allocation.id = word(rows, "allocation_id");
                allocation.address = word(rows, "address");
                allocation.bytes = word(rows, "bytes");
                allocation.space = number_of(rows, "space", engine::MemorySpace::Managed);
                allocation.role = number_of(rows, "role", engine::kLastAllocationRole);
                allocation.owner = rows.text("owner");
                allocation.allocated_at = word(rows, "allocated_at");
                allocation.freed_at = word(rows, "freed_at");
                snapshot.ledger.push_back(std::move(allocation));
              });
}

engine::Status Reading::read_graphs() {
  return each(open("snapshot_graphs", "SELECT * FROM snapshot_graphs ORDER BY snapshot_id, graph",
                   sizeof(GraphSnapshot)),
              [](Snapshot& snapshot, RowReader& rows) {
                if (!at_next(rows, "graph", snapshot.graphs.size(), kMaxSnapshotGraphs)) return;
                GraphSnapshot graph;
                graph.name = rows.text("name");
                graph.variant_of = rows.integer<int>("variant_of", -1, kMaxSnapshotGraphs);
                graph.changed = rows.text("changed");
                graph.degraded = flag(rows, "degraded");
                graph.capture_began = word(rows, "capture_began");
                graph.capture_ended = word(rows, "capture_ended");
                graph.failure.code = rows.integer<int>("failure_code", 0, 1 << 20);
                graph.failure.name = rows.text("failure_name");
                graph.failure.call = rows.text("failure_call");
                snapshot.graphs.push_back(std::move(graph));
              });
}

engine::Status Reading::read_nodes() {
  return each_of_graph(
      open("snapshot_nodes", "SELECT * FROM snapshot_nodes ORDER BY snapshot_id, graph, node",
           sizeof(SnapshotNode)),
      [](GraphSnapshot& graph, RowReader& rows) {
        if (!at_next(rows, "node", graph.nodes.size(), kMaxGraphNodes)) return;
        SnapshotNode node;
        node.type = number_of(rows, "type", NodeType::Unknown);  // gaps: check_snapshot()
        node.id = word(rows, "node_id");
        node.name = rows.text("name");
        node.stage = static_cast<engine::Stage>(
            rows.integer<int>("stage", 0, std::ssize(engine::kStageNames) - 1));
        node.layer = rows.integer<int>("layer", 0, kMaxGraphNodes);
        node.parent = rows.integer<int>("parent", -1, kMaxGraphNodes);
        graph.nodes.push_back(std::move(node));
      });
}

std::vector<std::byte> Reading::bytes_of(RowReader& rows, const char* column, std::size_t size) {
  const std::span<const std::byte> blob = rows.blob(column);
  if (!rows.ok() || (size == 0 && blob.empty())) return {};
  if (!source_.budget.take(size)) {
    rows.refuse(fmt::format("the file needs more memory than the limit of {} bytes",
                            source_.budget.limit()));
    return {};
  }
  std::vector<std::byte> bytes(size);
  if (engine::Status status = decompress_bytes(blob, bytes); !status.ok()) {
    rows.refuse(fmt::format("blob {} {}", column, status.error().message));
  }
  return bytes;
}

engine::Status Reading::read_kernels() {
  return each_of_node(
      open("snapshot_kernels", "SELECT * FROM snapshot_kernels ORDER BY snapshot_id, graph, node",
           0),
      [this](SnapshotNode& node, RowReader& rows) {
        KernelNode kernel;
        kernel.function = rows.text("function");
        for (const auto& [column, target] :
             {std::pair{"grid_x", &kernel.grid.x}, std::pair{"grid_y", &kernel.grid.y},
              std::pair{"grid_z", &kernel.grid.z}, std::pair{"block_x", &kernel.block.x},
              std::pair{"block_y", &kernel.block.y}, std::pair{"block_z", &kernel.block.z},
              std::pair{"cluster_x", &kernel.cluster.x}, std::pair{"cluster_y", &kernel.cluster.y},
              std::pair{"cluster_z", &kernel.cluster.z},
              std::pair{"dynamic_shared_bytes", &kernel.dynamic_shared_bytes}}) {
          *target = rows.integer<std::uint32_t>(column, 0, kMax32);
        }
        kernel.cooperative = flag(rows, "cooperative");
        kernel.waits_for_programmatic = number_of(rows, "waits_for_programmatic", Known::Yes);
        const auto bytes = rows.integer<std::size_t>("parameter_bytes", 0, kMaxParameterBytes);
        const auto slots = rows.integer<std::size_t>("slot_count", 0, kMaxSlots);
        kernel.parameters = bytes_of(rows, "parameters", bytes);
        const std::vector<std::byte> layout =
            bytes_of(rows, "slots", slots * sizeof(ParameterSlot));
        if (!rows.ok()) return;
        kernel.slots.resize(slots);
        std::ranges::copy(layout, std::as_writable_bytes(std::span(kernel.slots)).begin());
        node.parameters = std::move(kernel);
      });
}

engine::Status Reading::read_others() {
  engine::Status status =
      each_of_node(open("snapshot_memsets",
                        "SELECT * FROM snapshot_memsets ORDER BY snapshot_id, graph, node", 0),
                   [](SnapshotNode& node, RowReader& rows) {
                     MemsetNode memset;
                     memset.address = word(rows, "address");
                     memset.value = rows.integer<std::uint32_t>("value", 0, kMax32);
                     memset.element_bytes = rows.integer<std::uint32_t>("element_bytes", 0, kMax32);
                     memset.width = word(rows, "width");
                     memset.height = word(rows, "height");
                     memset.pitch = word(rows, "pitch");
                     node.parameters = memset;
                   });
  if (!status.ok()) return status;
  status = each_of_node(
      open("snapshot_copies", "SELECT * FROM snapshot_copies ORDER BY snapshot_id, graph, node", 0),
      [](SnapshotNode& node, RowReader& rows) {
        MemcpyNode copy;
        copy.source_space = number_of(rows, "source_space", engine::MemorySpace::Managed);
        copy.target_space = number_of(rows, "target_space", engine::MemorySpace::Managed);
        copy.source = word(rows, "source");
        copy.target = word(rows, "target");
        copy.bytes = word(rows, "bytes");
        node.parameters = copy;
      });
  if (!status.ok()) return status;
  return each_of_node(
      open("snapshot_memory", "SELECT * FROM snapshot_memory ORDER BY snapshot_id, graph, node", 0),
      [](SnapshotNode& node, RowReader& rows) {
        const std::size_t operation = rows.choice("operation", kMemoryOperations);
        const std::uint64_t address = word(rows, "address");
        const std::uint64_t bytes = word(rows, "bytes");
        if (operation == 0) {
          node.parameters = MemAllocNode{.address = address, .bytes = bytes};
        } else {
          node.parameters = MemFreeNode{.address = address};
        }
      });
}

engine::Status Reading::read_edges() {
  return each_of_graph(
      open("snapshot_edges", "SELECT * FROM snapshot_edges ORDER BY snapshot_id, graph, position",
           sizeof(SnapshotEdge)),
      [](GraphSnapshot& graph, RowReader& rows) {
        if (!at_next(rows, "position", graph.edges.size(), kMaxGraphEdges)) return;
        SnapshotEdge edge;
        const std::int64_t last = std::ssize(graph.nodes) - 1;
        edge.from = rows.integer<int>("from_node", 0, last);
        edge.to = rows.integer<int>("to_node", 0, last);
        edge.kind = number_of(rows, "kind", EdgeKind::LaunchOrder);
        graph.edges.push_back(edge);
      });
}

engine::Status Reading::read_events() {
  return each_of_graph(
      open("snapshot_events", "SELECT * FROM snapshot_events ORDER BY snapshot_id, graph, position",
           sizeof(CaptureEvent)),
      [](GraphSnapshot& graph, RowReader& rows) {
        if (!at_next(rows, "position", graph.events.size(), kMaxCaptureEvents)) return;
        CaptureEvent event;
        event.kind = number_of(rows, "kind", CaptureEvent::Kind::HostSync);
        event.what = rows.text("what");
        graph.events.push_back(std::move(event));
      });
}

}  // namespace

engine::Status read_snapshots(const TableSource& source, Session& session) {
  Reading reading(source, session);
  for (const auto read : {&Reading::read_heads, &Reading::read_allocations, &Reading::read_graphs,
                          &Reading::read_nodes, &Reading::read_kernels, &Reading::read_others,
                          &Reading::read_edges, &Reading::read_events}) {
    if (engine::Status status = (reading.*read)(); !status.ok()) return status;
  }
  return {};
}

}  // namespace profiling
