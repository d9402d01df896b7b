#include "app/gui/graph/node_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/gui/plot/format.h"
#include "profiling/hazards/model/names.h"

namespace app {

std::string node_title(const profiling::GraphSnapshot& graph, int node) {
  if (node < 0 || static_cast<std::size_t>(node) >= graph.nodes.size()) {
    return fmt::format("node {}", node);
  }
  const profiling::SnapshotNode& one = graph.nodes[static_cast<std::size_t>(node)];
  const std::string name = one.name.empty() ? std::string(profiling::name_of(one.type))
                                            : plot::short_kernel_name(one.name);
  return fmt::format("{}  {}", node, name);
}

std::string launch_text(const profiling::SnapshotNode& node) {
  const auto* kernel = std::get_if<profiling::KernelNode>(&node.parameters);
  if (kernel == nullptr) return "";
  const auto size = [](const profiling::Extent& extent) {
    if (extent.z != 1) return fmt::format("{} x {} x {}", extent.x, extent.y, extent.z);
    if (extent.y != 1) return fmt::format("{} x {}", extent.x, extent.y);
    return fmt::format("{}", extent.x);
  };
  std::string text = fmt::format("grid {}, block {}", size(kernel->grid), size(kernel->block));
  if (kernel->cluster != profiling::Extent{}) {
    text += fmt::format(", cluster {}", size(kernel->cluster));
  }
  if (kernel->dynamic_shared_bytes != 0) {
    text += fmt::format(", {} shared", bytes_text(kernel->dynamic_shared_bytes));
  }
  if (kernel->cooperative) text += ", cooperative";
  return text;
}

std::string work_text(const profiling::SnapshotNode& node) {
  if (const auto* set = std::get_if<profiling::MemsetNode>(&node.parameters)) {
    return fmt::format("sets {} to {:#x}", bytes_text(set->bytes()), set->value);
  }
  if (const auto* copy = std::get_if<profiling::MemcpyNode>(&node.parameters)) {
    return fmt::format("copies {} from {} to {}", bytes_text(copy->bytes),
                       profiling::name_of(copy->source_space),
                       profiling::name_of(copy->target_space));
  }
  if (const auto* alloc = std::get_if<profiling::MemAllocNode>(&node.parameters)) {
    return fmt::format("allocates {} at {:#x}", bytes_text(alloc->bytes), alloc->address);
  }
  if (const auto* release = std::get_if<profiling::MemFreeNode>(&node.parameters)) {
    return fmt::format("frees {:#x}", release->address);
  }
  return "";
}

std::string target_text(const profiling::Snapshot& snapshot, const profiling::Touch& touch) {
  if (touch.allocation < 0 ||
      static_cast<std::size_t>(touch.allocation) >= snapshot.ledger.size()) {
    return fmt::format("{:#x}", touch.word);
  }
  const engine::Allocation& memory = snapshot.ledger[static_cast<std::size_t>(touch.allocation)];
  const std::string name =
      memory.owner.empty() ? fmt::format("allocation {}", memory.id) : memory.owner;
  const std::uint64_t offset = touch.word - memory.address;
  return (offset == 0 ? name : fmt::format("{} + {:#x}", name, offset)) +
         (memory.live() ? "" : " (freed)");
}

std::vector<profiling::Touch> touches_of(const MemoryMap& memory, int node) {
  const auto [first, last] = std::equal_range(
      memory.touches.begin(), memory.touches.end(), profiling::Touch{.node = node},
      [](const profiling::Touch& a, const profiling::Touch& b) { return a.node < b.node; });
  return {first, last};
}

}  // namespace app
