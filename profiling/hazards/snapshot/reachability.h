// Which node of a graph is certain to finish before which other one starts: the question behind
// every race. By default only edges that order memory count.
#pragma once

#include <cstdint>
#include <vector>

#include "profiling/hazards/model/snapshot.h"

namespace profiling {

enum class OrderedBy : std::uint8_t {
  Memory,   // full edges, and programmatic ones whose consumer waits
  AnyEdge,  // every edge: the order that the author of the graph intended
};

/// Does the edge let the consumer see everything that the producer wrote?
bool orders_memory(const GraphSnapshot& graph, const SnapshotEdge& edge);

/// Exact. Children of a child graph are ordered like their parent. Malformed edges are ignored
/// (check_snapshot()). Keeps a reference to the graph. Memory: nodes^2 / 8 bytes up to kMaxClosure
/// nodes; larger graphs are traversed for every query.
class Reachability {
 public:
  static constexpr int kMaxClosure = 32768;

  explicit Reachability(const GraphSnapshot& graph, OrderedBy by = OrderedBy::Memory);

  /// Node a finishes before node b starts. False for a node and the child graph that contains it,
  /// and for indices out of range.
  bool before(int a, int b) const;
  bool ordered(int a, int b) const { return before(a, b) || before(b, a); }

  /// In two bodies of one conditional node, of which a launch executes one.
  bool exclusive(int a, int b) const;

  /// For nodes in topological order: is every pair ordered?
  bool chain(const std::vector<int>& nodes) const;

 private:
  struct Pair {
    int a = -1;
    int b = -1;
  };
  Pair lift(int a, int b) const;
  bool walk(int from, int to) const;

  const GraphSnapshot& graph_;
  int count_ = 0;
  std::size_t words_ = 0;
  std::vector<std::vector<int>> before_;     // predecessors by an edge
  std::vector<int> depth_;                   // 0 = top level
  std::vector<std::uint64_t> predecessors_;  // [count, words], bit a of row b: a before b
};

}  // namespace profiling
