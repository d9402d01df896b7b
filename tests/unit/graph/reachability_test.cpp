#include "profiling/hazards/snapshot/reachability.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/graph/hand_made_snapshot.h"

namespace profiling {
namespace {

TEST(Reachability, FollowsFullEdgesOnly) {
  HandMade made;
  const int first = made.kernel("first", {});
  const int second = made.kernel("second", {}, {first});
  const int third = made.kernel("third", {});
  made.edge(second, third, EdgeKind::Programmatic);
  const Reachability memory(made.graph());
  EXPECT_TRUE(memory.before(first, second));
  EXPECT_FALSE(memory.before(second, first));
  EXPECT_FALSE(memory.ordered(first, third));
  EXPECT_TRUE(Reachability(made.graph(), OrderedBy::AnyEdge).before(first, third));

  made.kernel_at(third).waits_for_programmatic = Known::Yes;
  EXPECT_TRUE(Reachability(made.graph()).before(first, third));
}

TEST(Reachability, ChildrenAreOrderedLikeTheirParents) {
  HandMade made;
  const int ahead = made.kernel("ahead", {});
  const int child = made.node(NodeType::ChildGraph, {}, {ahead});
  const int inner = made.kernel("inner", {});
  const int deeper = made.node(NodeType::ChildGraph, {});
  const int deepest = made.kernel("deepest", {});
  const int behind = made.kernel("behind", {}, {child});
  made.graph().nodes[static_cast<std::size_t>(inner)].parent = child;
  made.graph().nodes[static_cast<std::size_t>(deeper)].parent = child;
  made.graph().nodes[static_cast<std::size_t>(deepest)].parent = deeper;
  const Reachability order(made.graph());
  EXPECT_TRUE(order.before(ahead, deepest));
  EXPECT_TRUE(order.before(deepest, behind));
  EXPECT_FALSE(order.ordered(inner, deepest));
  EXPECT_FALSE(order.ordered(child, inner));
}

TEST(Reachability, AChainNeedsEveryPairInOrder) {
  HandMade made;
  const int start = made.kernel("start", {});
  const int a = made.kernel("a", {}, {start});
  const int b = made.kernel("b", {}, {a});
  const int shortcut = made.kernel("shortcut", {}, {start});
  const int end = made.kernel("end", {}, {b, shortcut});
  const Reachability order(made.graph());
  EXPECT_TRUE(order.chain({start, a, b, end}));
  EXPECT_FALSE(order.chain({start, a, shortcut, end}));
}

TEST(Reachability, RefusesIndicesOutOfRange) {
  HandMade made;
  made.kernel("only", {});
  made.graph().edges = {{.from = 0, .to = 7}, {.from = -1, .to = 0}, {.from = 0, .to = 0}};
  const Reachability order(made.graph());
  EXPECT_FALSE(order.before(0, 7));
  EXPECT_FALSE(order.before(0, 0));
  EXPECT_FALSE(order.before(-1, 5));
}

TEST(Reachability, AgreesWithAWalkOnRandomGraphs) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    HandMade made;
    const int count = 40;
    for (int n = 0; n < count; ++n) made.kernel("k", {});
    for (int e = 0; e < 60; ++e) {
      const int from = static_cast<int>(random() % (count - 1));
      const int to =
          from + 1 + static_cast<int>(random() % static_cast<unsigned>(count - from - 1));
      made.edge(from, to);
    }
    const Reachability order(made.graph());
    for (int a = 0; a < count; ++a) {
      std::vector<bool> reached(static_cast<std::size_t>(count));
      reached[static_cast<std::size_t>(a)] = true;
      for (int n = a; n < count; ++n) {
        for (const SnapshotEdge& edge : made.graph().edges) {
          if (edge.to == n && reached[static_cast<std::size_t>(edge.from)]) {
            reached[static_cast<std::size_t>(n)] = true;
          }
        }
        EXPECT_EQ(order.before(a, n), n != a && reached[static_cast<std::size_t>(n)]);
      }
    }
  }
}

TEST(Reachability, TenThousandNodes) {
  HandMade made;
  std::mt19937 random(3);
  const int count = 10000;
  for (int n = 0; n < count; ++n) made.kernel("k", {});
  for (int n = 1; n < count; ++n) {
    for (int e = 0; e < 3; ++e) made.edge(static_cast<int>(random() % static_cast<unsigned>(n)), n);
  }
  const Reachability order(made.graph());
  // Every node but the first has an earlier one.
  EXPECT_TRUE(order.before(0, count - 1));
  EXPECT_FALSE(order.before(count - 1, 0));
}

}  // namespace
}  // namespace profiling
