// The search for the smallest set of memory that must move, against simulated collisions.
#include "app/doctor/isolation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

namespace app {
namespace {

using profiling::MovedMemory;
using Pairs = std::vector<std::pair<int, int>>;

std::vector<MovedMemory> nodes(const std::vector<int>& indices) {
  std::vector<MovedMemory> set;
  for (const int index : indices) set.push_back({{0, index}, "workspace"});
  return set;
}

/// Replays are correct if at least one of every colliding pair has moved.
CuresReplays collisions(const Pairs& pairs, int* trials = nullptr) {
  return [pairs, trials](const std::vector<MovedMemory>& moved) -> std::optional<bool> {
    if (trials != nullptr) ++*trials;
    std::set<int> away;
    for (const MovedMemory& one : moved) away.insert(one.node.node);
    return std::ranges::all_of(pairs, [&](const auto& pair) {
      return away.contains(pair.first) || away.contains(pair.second);
    });
  };
}

TEST(Isolate, OnePairNeedsOneMove) {
  const auto all = nodes({0, 1});
  const Isolation found = isolate(all, all, 64, collisions({{0, 1}}));
  EXPECT_TRUE(found.smallest);
  EXPECT_EQ(found.set.size(), 1U);
}

TEST(Isolate, OnlyTheCollidingPairOfManyMoves) {
  const auto all = nodes({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  int trials = 0;
  const Isolation found = isolate(all, all, 64, collisions({{3, 9}}, &trials));
  EXPECT_EQ(found.set.size(), 1U);
  EXPECT_TRUE(found.set == nodes({3}) || found.set == nodes({9}));
  EXPECT_LE(trials, 12);
}

TEST(Isolate, FindsTheMiddleOfAStar) {
  const auto all = nodes({0, 1, 2, 3});
  const Isolation found = isolate(nodes({0, 2, 3}), all, 64, collisions({{0, 1}, {1, 2}, {1, 3}}));
  EXPECT_EQ(found.set, nodes({1}));
  EXPECT_TRUE(found.smallest);
}

TEST(Isolate, OfThreeThatCollideTwoMove) {
  const auto all = nodes({4, 5, 6});
  const Isolation found = isolate(all, all, 64, collisions({{4, 5}, {5, 6}, {4, 6}}));
  EXPECT_EQ(found.set.size(), 2U);
  EXPECT_TRUE(found.smallest);
}

TEST(Isolate, AStopKeepsTheCureFoundSoFar) {
  const auto all = nodes({0, 1, 2, 3, 4, 5, 6, 7});
  const Pairs pairs = {{0, 1}, {6, 7}};
  const CuresReplays oracle = collisions(pairs);
  for (int limit = 0; limit < 12; ++limit) {
    int trials = 0;
    const Isolation found =
        isolate(all, all, 64, [&](const std::vector<MovedMemory>& moved) -> std::optional<bool> {
          if (trials++ == limit) return std::nullopt;
          return oracle(moved);
        });
    EXPECT_TRUE(*oracle(found.set)) << limit;
    EXPECT_TRUE(!found.smallest || trials <= limit) << limit;
  }
}

TEST(Isolate, TheFoundSetIsMinimal) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const int count = 2 + static_cast<int>(random() % 9);
    Pairs pairs;
    for (int a = 0; a < count; ++a) {
      for (int b = a + 1; b < count; ++b) {
        if (random() % 4 == 0) pairs.emplace_back(a, b);
      }
    }
    if (pairs.empty()) continue;
    std::vector<int> indices(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) indices[static_cast<std::size_t>(i)] = i;
    const CuresReplays oracle = collisions(pairs);
    const Isolation found = isolate(nodes(indices), nodes(indices), 64, oracle);
    EXPECT_TRUE(*oracle(found.set));
    for (const MovedMemory& one : found.set) EXPECT_FALSE(*oracle(without(found.set, {one})));
  }
}

TEST(Candidates, AreTheCureAndOtherUsersOfTheMemory) {
  profiling::Finding finding;
  finding.proof.cures.moved = {{{0, 5}, "workspace"}};
  finding.nodes = {{0, 2}, {0, 3}, {0, 5}};  // 1 is the memset before 2
  for (const auto& [node, owner] :
       {std::pair{1, "workspace"}, {2, "workspace"}, {5, "workspace"}, {3, "other"}}) {
    profiling::Access access;
    access.node = {0, node};
    access.owner = owner;
    finding.accesses.push_back(access);
  }
  EXPECT_TRUE(concerns_memory(finding));
  EXPECT_EQ(candidates_of(finding), nodes({2, 5}));
}

TEST(Candidates, WorkspaceReferencesAreFoundInArgumentBytes) {
  profiling::Snapshot snapshot;
  snapshot.ledger = {{.id = 1,
                      .address = 0x1000,
                      .bytes = 256,
                      .role = engine::AllocationRole::Workspace,
                      .owner = "workspace"},
                     {.id = 2,
                      .address = 0x2000,
                      .bytes = 256,
                      .role = engine::AllocationRole::Output,
                      .owner = "Y"}};
  const auto kernel = [](std::vector<std::uint64_t> words) {
    profiling::KernelNode node;
    node.parameters.resize(words.size() * 8);
    std::memcpy(node.parameters.data(), words.data(), node.parameters.size());
    profiling::SnapshotNode made;
    made.type = profiling::NodeType::Kernel;
    made.parameters = node;
    return made;
  };
  profiling::GraphSnapshot graph;
  graph.nodes = {
      kernel({7, 0x1000, 0x1040}), kernel({0x2000}), kernel({0x10FF}), kernel({0x1100}), {}};
  snapshot.graphs = {graph, graph};
  snapshot.graphs[1].variant_of = 0;
  EXPECT_EQ(workspace_references(snapshot), nodes({0, 2}));
  // Two numbers of four bytes are no address, nor are the bytes after them.
  auto& first = std::get<profiling::KernelNode>(snapshot.graphs[0].nodes[0].parameters);
  first.slots = {{.offset = 0, .bytes = 8}, {.offset = 8, .bytes = 4}, {.offset = 12, .bytes = 4}};
  EXPECT_EQ(workspace_references(snapshot), nodes({2}));
}

}  // namespace
}  // namespace app
