// Hazard 23: a node uses memory that a free node of the same graph may have returned before. The
// free counts as a writer: whoever gets the memory next writes there.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "profiling/hazards/model/names.h"
#include "profiling/hazards/rules/rules.h"

namespace profiling {
namespace {

/// Memory that an allocation node of some graph makes.
struct GraphBlock {
  NodeRef allocation;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool meets(std::uint64_t at, std::uint64_t count) const {
    return at < address + bytes && address < at + std::max<std::uint64_t>(count, 1);
  }
};

/// A node's access to a block.
struct LateUse {
  int node = 0;
  std::string place;
  std::uint64_t word = 0;
  bool certain = false;  // a copy or memset, or a parameter of its own
};

std::optional<LateUse> late_use_of(const SnapshotNode& node, int index, const GraphBlock& block) {
  std::optional<LateUse> found;
  const auto range = [&](std::uint64_t at, std::uint64_t bytes, const char* place) {
    if (!found && at != 0 && block.meets(at, bytes))
      found = LateUse{.node = index, .place = place, .word = at, .certain = true};
  };
  if (const auto* memset = std::get_if<MemsetNode>(&node.parameters)) {
    range(memset->address, memset->bytes(), "memset target");
  } else if (const auto* copy = std::get_if<MemcpyNode>(&node.parameters)) {
    range(copy->source, copy->bytes, "copy source");
    range(copy->target, copy->bytes, "copy target");
  } else if (const auto* kernel = std::get_if<KernelNode>(&node.parameters)) {
    any_argument_word(*kernel, [&](const ParameterSlot& slot, std::uint64_t at,
                                   std::uint64_t word) {
      if (!block.meets(word, 1)) return false;
      const bool map = tensor_map_at(*kernel, at) != nullptr;
      found = LateUse{.node = index,
                      .place = fmt::format("{}parameter byte {}", map ? "tensor map at " : "", at),
                      .word = word,
                      .certain = map || (!kernel->slots.empty() && slot.bytes == kAddressBytes)};
      return true;
    });
  }
  return found;
}

class FreeSearch {
 public:
  FreeSearch(RuleContext& context, int graph, const std::vector<GraphBlock>& blocks)
      : graph_(graph), nodes_(context.graph(graph).nodes), order_(context.memory_order(graph)) {
    for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
      const auto* frees = std::get_if<MemFreeNode>(&node(n).parameters);
      if (frees == nullptr || frees->address == 0) continue;
      // Several allocations may have had the address: the one before this free, else another
      // graph's.
      const GraphBlock* block = nullptr;
      for (const GraphBlock& one : blocks) {
        if (one.address != frees->address) continue;
        const bool here = one.allocation.graph == graph;
        if (here && !order_.before(one.allocation.node, n)) continue;
        if (block == nullptr || here) block = &one;
      }
      if (block != nullptr) examine(n, *block, blocks);
    }
  }

  struct Found {
    int free = 0;
    const GraphBlock* block = nullptr;
    std::vector<LateUse> uses;
    bool ordered = false;  // some use certainly comes later
  };
  std::vector<Found> found;

 private:
  const SnapshotNode& node(int n) const { return nodes_[static_cast<std::size_t>(n)]; }

  void examine(int free, const GraphBlock& block, const std::vector<GraphBlock>& blocks) {
    Found late{.free = free, .block = &block, .uses = {}};
    for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
      if (n == free || order_.before(n, free) || order_.exclusive(n, free)) continue;
      const std::optional<LateUse> use = late_use_of(node(n), n, block);
      if (!use || given_again(free, *use, blocks)) continue;
      late.ordered = late.ordered || order_.before(free, n);
      late.uses.push_back(*use);
    }
    if (!late.uses.empty()) found.push_back(std::move(late));
  }

  /// Another allocation of this graph has the memory when the node uses it.
  bool given_again(int free, const LateUse& use, const std::vector<GraphBlock>& blocks) const {
    return std::ranges::any_of(blocks, [&](const GraphBlock& later) {
      return later.allocation.graph == graph_ && later.meets(use.word, 1) &&
             order_.before(free, later.allocation.node) &&
             order_.before(later.allocation.node, use.node);
    });
  }

  int graph_;
  const std::vector<SnapshotNode>& nodes_;
  const Reachability& order_;
};

Finding finding_of(const RuleContext& context, int graph, const FreeSearch::Found& found) {
  Finding finding{.rule = "used-after-free-node", .hazard = 23, .confidence = Confidence::Possible};
  const NodeRef free{graph, found.free};
  std::vector<NodeRef> users;
  for (const LateUse& use : found.uses) {
    const NodeRef user{graph, use.node};
    add_node(users, user);
    if (use.certain) finding.confidence = Confidence::Likely;
    add_access(finding.accesses, {.node = user, .place = use.place, .word = use.word});
  }
  finding.nodes = users;
  add_node(finding.nodes, free);
  finding.title = fmt::format(
      "{} uses memory that {} frees {} ({})", context.text(users), context.text(free),
      found.ordered ? "before" : "in no fixed order with it", size_text(found.block->bytes));
  finding.explanation =
      "After a free node the memory belongs to whoever allocates next: another branch, another "
      "graph or the program. A node that uses it then reads what others wrote, or overwrites "
      "theirs.";
  if (!found.ordered) {
    finding.missing_order =
        fmt::format("no path from node {} to node {}", users.front().node, found.free);
  }
  finding.evidence.push_back(
      fmt::format("{} allocates {:#x}; no later allocation node of this "
                  "graph has that memory when it is used.",
                  context.text(found.block->allocation), found.block->address));
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "The free node is ordered behind the uses; wrong results before and correct ones after prove "
      "it.";
  for (const NodeRef user : users) finding.proof.cures.ordered.push_back({user, free});
  return finding;
}

}  // namespace

void find_uses_after_free_nodes(RuleContext& context, std::vector<Finding>& findings) {
  std::vector<GraphBlock> blocks;
  for (int g = 0; g < context.graphs(); ++g) {
    if (context.left_out(g)) continue;
    for (int n = 0; n < static_cast<int>(context.graph(g).nodes.size()); ++n) {
      const auto* allocates = std::get_if<MemAllocNode>(&context.node({g, n}).parameters);
      if (allocates != nullptr && allocates->address != 0 && allocates->bytes != 0 &&
          allocates->address + allocates->bytes > allocates->address)
        blocks.push_back({{g, n}, allocates->address, allocates->bytes});
    }
  }
  if (blocks.empty()) return;
  for (int g = 0; g < context.graphs(); ++g) {
    if (context.left_out(g) || context.too_large_to_order(g)) continue;
    const std::vector<SnapshotNode>& nodes = context.graph(g).nodes;
    if (std::ranges::find(nodes, NodeType::MemFree, &SnapshotNode::type) == nodes.end()) continue;
    for (const FreeSearch::Found& found : FreeSearch(context, g, blocks).found)
      findings.push_back(finding_of(context, g, found));
  }
}

}  // namespace profiling
