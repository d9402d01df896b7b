#include "profiling/hazards/model/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

namespace profiling {
namespace {

/// By its names, not by its last enumerator: one that is appended is known too.
template <engine::Named Enumeration>
bool known(Enumeration value) {
  return std::ranges::any_of(engine::kType<Enumeration>.names,
                             [value](const engine::EnumName& one) {
                               return one.value == static_cast<std::int64_t>(value);
                             });
}

/// What is wrong with the parameters; empty = nothing.
std::string wrong_parameters(const NodeParameters& parameters) {
  if (const auto* kernel = std::get_if<KernelNode>(&parameters)) {
    std::uint64_t end = 0;
    for (const ParameterSlot& slot : kernel->slots) {
      if (slot.offset < end) return "its parameter slots overlap";
      end = std::uint64_t{slot.offset} + slot.bytes;
    }
    if (!kernel->slots.empty() && !kernel->parameters.empty() && end > kernel->parameters.size()) {
      return fmt::format("its parameter slots end at byte {} of {}", end,
                         kernel->parameters.size());
    }
    end = 0;
    for (const TensorMap& map : kernel->tensor_maps) {
      if (map.offset < end) return "its tensor maps overlap";
      end = std::uint64_t{map.offset} + kTensorMapBytes;
      if (map.address + map.bytes < map.address) return "one of its tensors wraps around";
    }
    if (end > kernel->parameters.size()) {
      return fmt::format("its tensor maps end at byte {} of {}", end, kernel->parameters.size());
    }
    if (!known(kernel->waits_for_programmatic)) return "its wait state is unknown";
  } else if (const auto* copy = std::get_if<MemcpyNode>(&parameters)) {
    if (!known(copy->source_space) || !known(copy->target_space))
      return "its memory space is unknown";
  } else if (const auto* conditional = std::get_if<ConditionalNode>(&parameters)) {
    if (!known(conditional->condition)) return "its kind of condition is unknown";
  }
  return {};
}

engine::Flaw flaw_of_graph(const Snapshot& snapshot, std::size_t index) {
  const GraphSnapshot& graph = snapshot.graphs[index];
  const auto in_graph = [&](std::string_view member) {
    return fmt::format("graphs[{}].{}", index, member);
  };
  const auto in_node = [&](std::size_t node, std::string_view member) {
    return fmt::format("graphs[{}].nodes[{}].{}", index, node, member);
  };
  if (graph.variant_of != -1 &&
      (graph.variant_of < 0 || static_cast<std::size_t>(graph.variant_of) >= index)) {
    return {in_graph("variant_of"),
            fmt::format("is {}; a variant follows its original", graph.variant_of)};
  }
  for (const CaptureEvent& event : graph.events) {
    if (!known(event.kind)) {
      return {in_graph("events"), "has one of unknown kind"};
    }
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const SnapshotNode& node = graph.nodes[n];
    if (!known(node.type)) return {in_node(n, "type"), "is not known"};
    if (!known(node.stage)) return {in_node(n, "stage"), "is not known"};
    if (node.parent < -1 || (node.parent >= 0 && static_cast<std::size_t>(node.parent) >= n)) {
      return {in_node(n, "parent"), fmt::format("is {}; a node follows its parent", node.parent)};
    }
    if (const std::string wrong = wrong_parameters(node.parameters); !wrong.empty()) {
      return {in_node(n, "parameters"), "is malformed: " + wrong};
    }
  }
  for (const SnapshotEdge& edge : graph.edges) {
    const bool in_range = edge.from >= 0 && edge.from < edge.to &&
                          static_cast<std::size_t>(edge.to) < graph.nodes.size();
    if (!in_range || !known(edge.kind) ||
        graph.nodes[static_cast<std::size_t>(edge.from)].parent !=
            graph.nodes[static_cast<std::size_t>(edge.to)].parent) {
      return {in_graph("edges"),
              fmt::format("has an edge from node {} to node {}", edge.from, edge.to)};
    }
  }
  return {};
}

}  // namespace

engine::Flaw Snapshot::flaw() const {
  for (std::size_t graph = 0; graph < graphs.size(); ++graph) {
    if (engine::Flaw flaw = flaw_of_graph(*this, graph); !flaw.empty()) return flaw;
  }
  for (const GraphLaunch& launch : launches) {
    const bool captured = launch.graph >= 0 &&
                          static_cast<std::size_t>(launch.graph) < graphs.size() &&
                          graphs[static_cast<std::size_t>(launch.graph)].variant_of < 0;
    if (!captured) {
      return {"launches",
              fmt::format("has one of graph {}, which is none of the step's", launch.graph)};
    }
  }
  for (const GraphPool& pool : pools) {
    if (pool.bytes > std::numeric_limits<std::uint64_t>::max() - pool.address) {
      return {"pools", fmt::format("has one at {:#x}, which wraps around", pool.address)};
    }
  }
  std::uint64_t last = 0;
  for (const engine::Allocation& allocation : ledger) {
    if (allocation.id <= last) return {"ledger", "is not in ascending order"};
    last = allocation.id;
    if (allocation.bytes > std::numeric_limits<std::uint64_t>::max() - allocation.address ||
        !known(allocation.role) || !known(allocation.space)) {
      return {"ledger", fmt::format("has allocation {}, which is out of range", allocation.id)};
    }
  }
  return {};
}

engine::Status check_snapshot(const Snapshot& snapshot) {
  const engine::Flaw flaw = snapshot.flaw();
  if (flaw.empty()) return {};
  return engine::Error{.code = engine::ErrorCode::Protocol,
                       .message = "The snapshot is malformed: " + flaw.message(),
                       .field = flaw.field};
}

}  // namespace profiling
