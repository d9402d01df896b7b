#include "profiling/hazards/snapshot/reachability.h"

#include <algorithm>
#include <cstddef>

namespace profiling {
namespace {

std::size_t index(int node) { return static_cast<std::size_t>(node); }

}  // namespace

bool orders_memory(const GraphSnapshot& graph, const SnapshotEdge& edge) {
  if (edge.kind == EdgeKind::Full) return true;
  if (edge.kind == EdgeKind::LaunchOrder) return false;
  if (edge.to < 0 || index(edge.to) >= graph.nodes.size()) return false;
  const auto* kernel = std::get_if<KernelNode>(&graph.nodes[index(edge.to)].parameters);
  return kernel != nullptr && kernel->waits_for_programmatic == Known::Yes;
}

Reachability::Reachability(const GraphSnapshot& graph, OrderedBy by)
    : graph_(graph), count_(static_cast<int>(graph.nodes.size())) {
  before_.resize(index(count_));
  depth_.resize(index(count_));
  for (int n = 0; n < count_; ++n) {
    const int parent = graph.nodes[index(n)].parent;
    if (parent >= 0 && parent < n) depth_[index(n)] = depth_[index(parent)] + 1;
  }
  for (const SnapshotEdge& edge : graph.edges) {
    if (edge.from < 0 || edge.from >= edge.to || edge.to >= count_) continue;
    if (by == OrderedBy::Memory && !orders_memory(graph, edge)) continue;
    before_[index(edge.to)].push_back(edge.from);
  }
  if (count_ > kMaxClosure) return;
  // A node follows its dependencies, so one pass in index order computes the closure.
  words_ = (index(count_) + 63) / 64;
  predecessors_.resize(index(count_) * words_);
  for (int n = 0; n < count_; ++n) {
    std::uint64_t* row = predecessors_.data() + index(n) * words_;
    for (const int from : before_[index(n)]) {
      const std::uint64_t* other = predecessors_.data() + index(from) * words_;
      const std::size_t used = index(from) / 64 + 1;  // nothing after `from` precedes it
      for (std::size_t w = 0; w < used; ++w) row[w] |= other[w];
      row[index(from) / 64] |= std::uint64_t{1} << (index(from) % 64);
    }
  }
}

Reachability::Pair Reachability::lift(int a, int b) const {
  const auto up = [&](int node) { return graph_.nodes[index(node)].parent; };
  while (depth_[index(a)] > depth_[index(b)]) a = up(a);
  while (depth_[index(b)] > depth_[index(a)]) b = up(b);
  while (a != b && depth_[index(a)] > 0 && up(a) != up(b)) {
    a = up(a);
    b = up(b);
  }
  return {.a = a, .b = b};
}

bool Reachability::exclusive(int a, int b) const {
  if (std::min(a, b) < 0 || std::max(a, b) >= count_) return false;
  const Pair pair = lift(a, b);
  const SnapshotNode& one = graph_.nodes[index(pair.a)];
  const SnapshotNode& other = graph_.nodes[index(pair.b)];
  return one.parent >= 0 && one.parent == other.parent && one.body != other.body;
}

bool Reachability::before(int a, int b) const {
  if (a < 0 || b < 0 || a >= count_ || b >= count_) return false;
  const Pair pair = lift(a, b);
  if (pair.a >= pair.b) return false;
  if (words_ == 0) return walk(pair.a, pair.b);
  const std::uint64_t word = predecessors_[index(pair.b) * words_ + index(pair.a) / 64];
  return ((word >> (index(pair.a) % 64)) & 1) != 0;
}

bool Reachability::walk(int from, int to) const {
  std::vector<bool> seen(index(to - from) + 1);
  std::vector<int> open = {to};
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    for (const int earlier : before_[index(node)]) {
      if (earlier == from) return true;
      if (earlier < from || seen[index(earlier - from)]) continue;
      seen[index(earlier - from)] = true;
      open.push_back(earlier);
    }
  }
  return false;
}

bool Reachability::chain(const std::vector<int>& nodes) const {
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    if (nodes[i - 1] != nodes[i] && !before(nodes[i - 1], nodes[i])) return false;
  }
  return true;
}

}  // namespace profiling
