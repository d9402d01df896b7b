// Hazard 12: an allocation node without a free node. A graph with one cannot be launched again
// before its memory is freed.
#include <fmt/format.h>

#include <map>

#include "profiling/hazards/model/names.h"
#include "profiling/hazards/rules/rules.h"

namespace profiling {

void find_unfreed_allocations(RuleContext& context, std::vector<Finding>& findings) {
  struct Block {
    std::vector<NodeRef> allocations;
    std::uint64_t bytes = 0;
    std::size_t frees = 0;
  };
  std::map<std::uint64_t, Block> blocks;  // by address
  for (int g = 0; g < context.graphs(); ++g) {
    if (context.left_out(g)) continue;
    for (int n = 0; n < static_cast<int>(context.graph(g).nodes.size()); ++n) {
      const NodeRef ref{g, n};
      const NodeParameters& parameters = context.node(ref).parameters;
      if (const auto* allocates = std::get_if<MemAllocNode>(&parameters)) {
        // A text file may have no address; two of them are not the same block.
        if (allocates->address == 0) continue;
        Block& block = blocks[allocates->address];
        block.allocations.push_back(ref);
        block.bytes = allocates->bytes;
      } else if (const auto* frees = std::get_if<MemFreeNode>(&parameters)) {
        ++blocks[frees->address].frees;  // another graph may free it
      }
    }
  }
  Finding finding{.rule = "unfreed-allocation", .hazard = 12, .confidence = Confidence::Likely};
  std::uint64_t bytes = 0;
  for (const auto& [address, block] : blocks) {
    if (block.allocations.size() <= block.frees) continue;
    bytes += block.bytes;
    for (std::size_t i = block.frees; i < block.allocations.size(); ++i) {
      add_node(finding.nodes, block.allocations[i]);
      add_access(finding.accesses,
                 {.node = block.allocations[i], .place = "allocated here", .word = address});
    }
  }
  if (finding.nodes.empty()) return;
  finding.title = fmt::format("{} allocates memory that no node frees ({})",
                              context.text(finding.nodes), size_text(bytes));
  finding.explanation =
      "An allocation under capture becomes a node of the graph. Its memory lives on after the "
      "launch until it is freed, and CUDA refuses to launch the graph a second time while it does.";
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "The graph is launched again, which CUDA refuses; then it is instantiated so that a launch "
      "frees the previous one's memory.";
  finding.proof.cures.free_on_launch = true;
  findings.push_back(std::move(finding));
}

}  // namespace profiling
