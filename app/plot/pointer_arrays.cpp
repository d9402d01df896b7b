#include "app/plot/pointer_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace app {
namespace {

constexpr std::size_t kListedNodes = 6;

/// "node 3", "nodes 0 and 1", "nodes 4, 6, 8, 10, 12, 14 and 3 more".
std::string nodes_text(const std::vector<int>& nodes) {
  std::string text = nodes.size() == 1 ? "node" : "nodes";
  const std::size_t listed = std::min(nodes.size(), kListedNodes);
  for (std::size_t i = 0; i < listed; ++i) {
    const bool last = i > 0 && i + 1 == nodes.size();
    text += fmt::format("{}{}", i == 0 ? " " : last ? " and " : ", ", nodes[i]);
  }
  if (nodes.size() > listed) text += fmt::format(" and {} more", nodes.size() - listed);
  return text;
}

std::size_t index_of(int number) { return static_cast<std::size_t>(number); }

}  // namespace

PointerArrays pointer_arrays(const profiling::Snapshot& snapshot,
                             const profiling::GraphSnapshot& graph, const MemoryMap& map) {
  const auto is_product = [&](int node) {
    const engine::Stage stage = graph.nodes[index_of(node)].stage;
    return stage == engine::Stage::Fprop || stage == engine::Stage::Dgrad ||
           stage == engine::Stage::Wgrad;
  };
  std::set<int> products;
  std::set<int> fillers;
  for (const MemoryRow& row : map.rows) {
    if (snapshot.ledger[index_of(row.allocation)].role != engine::AllocationRole::PointerArray)
      continue;
    const bool read = std::ranges::any_of(
        row.cells, [&](const MemoryCell& cell) { return is_product(cell.node); });
    if (!read) continue;
    for (const MemoryCell& cell : row.cells) {
      (is_product(cell.node) ? products : fillers).insert(cell.node);
    }
  }
  return {.products = {products.begin(), products.end()},
          .fillers = {fillers.begin(), fillers.end()}};
}

std::string arrays_sentence(const PointerArrays& arrays) {
  if (arrays.products.empty()) return {};
  std::string text =
      fmt::format("Grouped products ({}) reach their operands through pointer arrays",
                  nodes_text(arrays.products));
  if (!arrays.fillers.empty()) text += fmt::format(", which {} fill", nodes_text(arrays.fillers));
  if (arrays.fillers.size() == 1) text += "s";
  return text + ": their arguments hold no address of X, of W or of what they write.";
}

std::string operands_words(const PointerArrays& arrays, int node) {
  if (!std::ranges::binary_search(arrays.products, node)) return {};
  if (arrays.fillers.empty()) return "reached through pointer arrays";
  return fmt::format("reached through pointer arrays, which {} fill{}", nodes_text(arrays.fillers),
                     arrays.fillers.size() == 1 ? "s" : "");
}

}  // namespace app
