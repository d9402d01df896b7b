#include "app/protocol/convert_snapshot.h"

#include <cstring>
#include <utility>

#include "app/protocol/convert_parts.h"
#include "app/protocol/field_check.h"
#include "app/protocol/utf8.h"
#include "profiling/graph/snapshot_check.h"

namespace app {
namespace {

using profiling::Extent;
using profiling::KernelNode;

wire::Extent wire_extent(const Extent& extent) {
  wire::Extent out;
  out.set_x(extent.x);
  out.set_y(extent.y);
  out.set_z(extent.z);
  return out;
}

Extent read_extent(const wire::Extent& message) {
  return {.x = message.x(), .y = message.y(), .z = message.z()};
}

void set_kernel(wire::KernelParameters& out, const KernelNode& kernel) {
  out.set_function(wire_text(kernel.function));
  *out.mutable_grid() = wire_extent(kernel.grid);
  *out.mutable_block() = wire_extent(kernel.block);
  *out.mutable_cluster() = wire_extent(kernel.cluster);
  out.set_dynamic_shared_bytes(kernel.dynamic_shared_bytes);
  out.set_cooperative(kernel.cooperative);
  out.set_parameters(kernel.parameters.data(), kernel.parameters.size());
  for (const profiling::ParameterSlot& slot : kernel.slots) {
    out.add_slot_offsets(slot.offset);
    out.add_slot_bytes(slot.bytes);
  }
  out.set_waits_for_programmatic(as_number(kernel.waits_for_programmatic));
}

KernelNode read_kernel(const wire::KernelParameters& message, FieldCheck& check) {
  KernelNode kernel{.function = message.function(),
                    .grid = read_extent(message.grid()),
                    .block = read_extent(message.block()),
                    .cluster = read_extent(message.cluster()),
                    .dynamic_shared_bytes = message.dynamic_shared_bytes(),
                    .cooperative = message.cooperative(),
                    .parameters = std::vector<std::byte>(message.parameters().size()),
                    .slots = {}};
  if (!kernel.parameters.empty()) {
    std::memcpy(kernel.parameters.data(), message.parameters().data(), kernel.parameters.size());
  }
  check.require(message.slot_offsets_size() == message.slot_bytes_size(),
                "kernel.slot_offsets and kernel.slot_bytes differ in length");
  if (!check.ok()) return kernel;
  for (int i = 0; i < message.slot_offsets_size(); ++i) {
    kernel.slots.push_back({.offset = message.slot_offsets(i), .bytes = message.slot_bytes(i)});
  }
  number(check, kernel.waits_for_programmatic, message.waits_for_programmatic(),
         profiling::Known::Yes, "kernel.waits_for_programmatic");
  return kernel;
}

struct SetParameters {
  wire::SnapshotNode& out;
  void operator()(std::monostate) const {}
  void operator()(const KernelNode& kernel) const { set_kernel(*out.mutable_kernel(), kernel); }
  void operator()(const profiling::MemsetNode& memset) const {
    wire::MemsetParameters& to = *out.mutable_memset();
    to.set_address(memset.address);
    to.set_value(memset.value);
    to.set_element_bytes(memset.element_bytes);
    to.set_width(memset.width);
    to.set_height(memset.height);
    to.set_pitch(memset.pitch);
  }
  void operator()(const profiling::MemcpyNode& copy) const {
    wire::MemcpyParameters& to = *out.mutable_memcpy();
    to.set_source_space(as_number(copy.source_space));
    to.set_target_space(as_number(copy.target_space));
    to.set_source(copy.source);
    to.set_target(copy.target);
    to.set_bytes(copy.bytes);
  }
  void operator()(const profiling::MemAllocNode& alloc) const {
    out.mutable_mem_alloc()->set_address(alloc.address);
    out.mutable_mem_alloc()->set_bytes(alloc.bytes);
  }
  void operator()(const profiling::MemFreeNode& release) const {
    out.mutable_mem_free()->set_address(release.address);
  }
};

profiling::NodeParameters read_parameters(const wire::SnapshotNode& message, FieldCheck& check) {
  switch (message.parameters_case()) {
    case wire::SnapshotNode::kKernel:
      return read_kernel(message.kernel(), check);
    case wire::SnapshotNode::kMemset: {
      const wire::MemsetParameters& from = message.memset();
      return profiling::MemsetNode{.address = from.address(),
                                   .value = from.value(),
                                   .element_bytes = from.element_bytes(),
                                   .width = from.width(),
                                   .height = from.height(),
                                   .pitch = from.pitch()};
    }
    case wire::SnapshotNode::kMemcpy: {
      const wire::MemcpyParameters& from = message.memcpy();
      profiling::MemcpyNode copy{
          .source = from.source(), .target = from.target(), .bytes = from.bytes()};
      number(check, copy.source_space, from.source_space(), engine::MemorySpace::Managed,
             "memcpy.source_space");
      number(check, copy.target_space, from.target_space(), engine::MemorySpace::Managed,
             "memcpy.target_space");
      return copy;
    }
    case wire::SnapshotNode::kMemAlloc:
      return profiling::MemAllocNode{.address = message.mem_alloc().address(),
                                     .bytes = message.mem_alloc().bytes()};
    case wire::SnapshotNode::kMemFree:
      return profiling::MemFreeNode{.address = message.mem_free().address()};
    case wire::SnapshotNode::PARAMETERS_NOT_SET:
      break;
  }
  return std::monostate();
}

wire::GraphSnapshot wire_graph(const profiling::GraphSnapshot& graph) {
  wire::GraphSnapshot out;
  out.set_name(wire_text(graph.name));
  out.set_variant_of(graph.variant_of);
  out.set_changed(wire_text(graph.changed));
  out.set_degraded(graph.degraded);
  out.set_capture_began(graph.capture_began);
  out.set_capture_ended(graph.capture_ended);
  out.set_failure_code(graph.failure.code);
  out.set_failure_name(wire_text(graph.failure.name));
  out.set_failure_call(wire_text(graph.failure.call));
  for (const profiling::CaptureEvent& event : graph.events) {
    wire::CaptureEvent& added = *out.add_events();
    added.set_kind(as_number(event.kind));
    added.set_what(wire_text(event.what));
  }
  for (const profiling::SnapshotNode& node : graph.nodes) {
    wire::SnapshotNode& added = *out.add_nodes();
    added.set_type(as_number(node.type));
    added.set_id(node.id);
    added.set_name(wire_text(node.name));
    added.set_stage(static_cast<wire::Stage>(node.stage));
    added.set_layer(node.layer);
    added.set_parent(node.parent);
    std::visit(SetParameters{added}, node.parameters);
  }
  for (const profiling::SnapshotEdge& edge : graph.edges) {
    wire::SnapshotEdge& added = *out.add_edges();
    added.set_from(edge.from);
    added.set_to(edge.to);
    added.set_kind(as_number(edge.kind));
  }
  return out;
}

profiling::GraphSnapshot read_graph(const wire::GraphSnapshot& message, FieldCheck& check) {
  profiling::GraphSnapshot graph{.name = message.name(),
                                 .variant_of = message.variant_of(),
                                 .changed = message.changed(),
                                 .degraded = message.degraded(),
                                 .capture_began = message.capture_began(),
                                 .capture_ended = message.capture_ended(),
                                 .failure = {.code = message.failure_code(),
                                             .name = message.failure_name(),
                                             .call = message.failure_call()},
                                 .events = {},
                                 .nodes = {},
                                 .edges = {}};
  for (const wire::CaptureEvent& event : message.events()) {
    profiling::CaptureEvent& added = graph.events.emplace_back();
    added.what = event.what();
    number(check, added.kind, event.kind(), profiling::CaptureEvent::Kind::HostSync, "event.kind");
  }
  for (const wire::SnapshotNode& node : message.nodes()) {
    profiling::SnapshotNode& added = graph.nodes.emplace_back();
    if (node.type() != as_number(profiling::NodeType::Unknown)) {
      number(check, added.type, node.type(), profiling::NodeType::Conditional, "node.type");
    }
    added.id = node.id();
    added.name = node.name();
    check.enumerator(added.stage, node.stage(), wire::Stage_IsValid, "node.stage");
    added.layer = node.layer();
    added.parent = node.parent();
    added.parameters = read_parameters(node, check);
  }
  for (const wire::SnapshotEdge& edge : message.edges()) {
    profiling::SnapshotEdge& added = graph.edges.emplace_back();
    added.from = edge.from();
    added.to = edge.to();
    number(check, added.kind, edge.kind(), profiling::EdgeKind::LaunchOrder, "edge.kind");
  }
  return graph;
}

}  // namespace

wire::Snapshot to_wire(const profiling::Snapshot& snapshot) {
  wire::Snapshot out;
  out.set_subject(wire_text(snapshot.subject));
  out.set_cublaslt_version(wire_text(snapshot.cublaslt_version));
  out.set_device(wire_text(snapshot.device));
  out.set_compute_capability(wire_text(snapshot.compute_capability));
  out.set_driver(wire_text(snapshot.driver));
  for (const profiling::GraphSnapshot& graph : snapshot.graphs) {
    *out.add_graphs() = wire_graph(graph);
  }
  for (const engine::Allocation& allocation : snapshot.ledger) {
    wire::Allocation& added = *out.add_ledger();
    added.set_id(allocation.id);
    added.set_address(allocation.address);
    added.set_bytes(allocation.bytes);
    added.set_space(as_number(allocation.space));
    added.set_role(as_number(allocation.role));
    added.set_owner(wire_text(allocation.owner));
    added.set_allocated_at(allocation.allocated_at);
    added.set_freed_at(allocation.freed_at);
  }
  out.set_ledger_clock(snapshot.ledger_clock);
  return out;
}

engine::Result<profiling::Snapshot> from_wire(const wire::Snapshot& message) {
  FieldCheck check;
  profiling::Snapshot snapshot{.subject = message.subject(),
                               .cublaslt_version = message.cublaslt_version(),
                               .device = message.device(),
                               .compute_capability = message.compute_capability(),
                               .driver = message.driver(),
                               .graphs = {},
                               .ledger = {},
                               .ledger_clock = message.ledger_clock()};
  for (const wire::GraphSnapshot& graph : message.graphs()) {
    snapshot.graphs.push_back(read_graph(graph, check));
  }
  for (const wire::Allocation& allocation : message.ledger()) {
    engine::Allocation& added = snapshot.ledger.emplace_back();
    added.id = allocation.id();
    added.address = allocation.address();
    added.bytes = allocation.bytes();
    number(check, added.space, allocation.space(), engine::MemorySpace::Managed,
           "allocation.space");
    number(check, added.role, allocation.role(), engine::kLastAllocationRole, "allocation.role");
    added.owner = allocation.owner();
    added.allocated_at = allocation.allocated_at();
    added.freed_at = allocation.freed_at();
  }
  if (!check.ok()) return check.result(std::move(snapshot));
  if (engine::Status status = profiling::check_snapshot(snapshot); !status.ok()) {
    return status.error();
  }
  return snapshot;
}
}  // namespace app
