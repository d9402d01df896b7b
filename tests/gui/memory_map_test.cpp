#include "app/gui/graph/graph_facts.h"

#include <gtest/gtest.h>

namespace app {
namespace {

using profiling::GraphSnapshot;
using profiling::MemsetNode;
using profiling::NodeType;
using profiling::Snapshot;

constexpr std::uint64_t kAddress = 0x7f0000000000;

/// Two memsets of 64 bytes, `offset` apart, in one allocation of this role.
Snapshot two_memsets(engine::AllocationRole role, std::uint64_t offset, bool ordered) {
  Snapshot snapshot;
  snapshot.ledger.push_back(
      {.id = 1, .address = kAddress, .bytes = 4096, .role = role, .owner = "x"});
  GraphSnapshot graph;
  for (const std::uint64_t at : {std::uint64_t{0}, offset}) {
    graph.nodes.push_back({.type = NodeType::Memset,
                           .parameters = MemsetNode{.address = kAddress + at, .width = 64}});
  }
  if (ordered) graph.edges.push_back({.from = 0, .to = 1});
  snapshot.graphs.push_back(graph);
  return snapshot;
}

MemoryMap map_of(const Snapshot& snapshot) { return map_memory(snapshot, snapshot.graphs.front()); }

TEST(MemoryMap, OrderedNodesDoNotClash) {
  EXPECT_EQ(map_of(two_memsets(engine::AllocationRole::Output, 0, true)).clashes, 0);
}

TEST(MemoryMap, OverlappingWritesWithoutOrderClash) {
  const MemoryMap map = map_of(two_memsets(engine::AllocationRole::Output, 32, false));
  ASSERT_EQ(map.rows.size(), 1U);
  EXPECT_EQ(map.clashes, 1);
  EXPECT_EQ(map.rows[0].cells[0].unordered_with, 1);
  EXPECT_TRUE(map.rows[0].cells[1].writes);
}

TEST(MemoryMap, PartsOfDifferentExpertsDoNotClash) {
  EXPECT_EQ(map_of(two_memsets(engine::AllocationRole::Output, 64, false)).clashes, 0);
}

TEST(MemoryMap, ScratchClashesAsAWhole) {
  EXPECT_EQ(map_of(two_memsets(engine::AllocationRole::Workspace, 1024, false)).clashes, 1);
}

}  // namespace
}  // namespace app
