#include "app/plot/graph_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>
#include <vector>

#include "app/plot/pointer_arrays.h"

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

MemoryMap map_of(const Snapshot& snapshot, const std::vector<profiling::Finding>& findings = {}) {
  return map_memory(snapshot, 0, findings);
}

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

/// A kernel of this stage that holds the first address of each allocation.
Snapshot one_kernel(engine::Stage stage, const std::vector<engine::Allocation>& memory) {
  Snapshot snapshot{.ledger = memory};
  profiling::KernelNode launch;
  launch.parameters.resize(8 * memory.size());
  for (std::size_t i = 0; i < memory.size(); ++i) {
    snapshot.ledger[i].id = i + 1;
    snapshot.ledger[i].address = kAddress + 4096 * i;
    snapshot.ledger[i].bytes = 4096;
    std::memcpy(launch.parameters.data() + 8 * i, &snapshot.ledger[i].address, 8);
    launch.slots.push_back({.offset = static_cast<std::uint32_t>(8 * i), .bytes = 8});
  }
  snapshot.graphs.resize(1);
  snapshot.graphs[0].nodes.push_back(
      {.type = NodeType::Kernel, .stage = stage, .parameters = std::move(launch)});
  return snapshot;
}

std::string operand_of(engine::Stage stage, const std::vector<engine::Allocation>& memory) {
  const Snapshot snapshot = one_kernel(stage, memory);
  return operands_of(snapshot, snapshot.graphs[0], map_of(snapshot)).at(0);
}

TEST(Operands, AreKnownByTheQuantizedMemoryThatANodeHolds) {
  using engine::AllocationRole;
  using engine::Stage;
  const engine::Allocation input = {.role = AllocationRole::Input, .owner = "activations"};
  const engine::Allocation codes = {.role = AllocationRole::Quantized, .owner = "X: rowwise codes"};
  const engine::Allocation weights = {.role = AllocationRole::Tickets,
                                      .owner = "W, layer 0: tickets"};
  EXPECT_EQ(operand_of(Stage::Quantize, {input, codes}), "X");
  EXPECT_EQ(operand_of(Stage::Amax, {weights}), "W");
  EXPECT_EQ(operand_of(Stage::Quantize, {codes, weights, codes}), "W and X");
  EXPECT_EQ(operand_of(Stage::Quantize, {{.role = AllocationRole::Quantized,
                                          .owner = "micro-batch 2: A, layer 0: rowwise codes"}}),
            "A");
  // The offsets of its rows are written into X's memory by a node that quantizes nothing.
  EXPECT_EQ(operand_of(Stage::Offsets, {codes}), "");
  EXPECT_EQ(operand_of(Stage::Quantize, {input}), "");
  EXPECT_EQ(
      operand_of(Stage::Quantize, {{.role = AllocationRole::Quantized, .owner = "partial amax"}}),
      "");
}

/// Kernels that each hold the addresses of the allocations with these indices.
Snapshot kernels_of(const std::vector<engine::Allocation>& memory,
                    const std::vector<std::pair<engine::Stage, std::vector<std::size_t>>>& nodes) {
  Snapshot snapshot;
  snapshot.graphs.resize(1);
  for (const auto& [stage, held] : nodes) {
    std::vector<engine::Allocation> all = memory;
    Snapshot one = one_kernel(stage, all);
    snapshot.ledger = one.ledger;
    auto& launch = std::get<profiling::KernelNode>(one.graphs[0].nodes[0].parameters);
    const std::vector<std::byte> bytes = launch.parameters;
    launch.parameters.assign(8 * held.size(), std::byte{0});
    launch.slots.clear();
    for (std::size_t i = 0; i < held.size(); ++i) {
      std::memcpy(launch.parameters.data() + 8 * i, bytes.data() + 8 * held[i], 8);
      launch.slots.push_back({.offset = static_cast<std::uint32_t>(8 * i), .bytes = 8});
    }
    snapshot.graphs[0].nodes.push_back(one.graphs[0].nodes[0]);
  }
  return snapshot;
}

/// Argument bytes do not tell which of two kernels writes: that one of them does, and that nothing
/// orders them, is what the finding knows.
TEST(MemoryMap, WhatAFindingNamesWithoutAnOrderClashes) {
  Snapshot snapshot = kernels_of({{.role = engine::AllocationRole::Quantized, .owner = "X"},
                                  {.role = engine::AllocationRole::Input, .owner = "weights"}},
                                 {{engine::Stage::Fprop, {0, 1}},
                                  {engine::Stage::Fprop, {1}},
                                  {engine::Stage::Fprop, {0, 1}}});
  EXPECT_EQ(map_of(snapshot).clashes, 0);
  profiling::Finding finding{
      .rule = "unordered-access",
      .confidence = profiling::Confidence::Proved,
      .accesses = {{.node = {0, 0}, .word = kAddress}, {.node = {0, 2}, .word = kAddress}},
      .missing_order = "no path between node 0 and node 2"};
  const MemoryMap map = map_of(snapshot, {finding});
  EXPECT_EQ(map.clashes, 1);
  const auto red = std::ranges::find(map.rows, true, &MemoryRow::red);
  ASSERT_NE(red, map.rows.end());
  EXPECT_EQ(red->allocation, 0);
  ASSERT_EQ(red->cells.size(), 2U);
  EXPECT_EQ(red->cells[0].unordered_with, 2);
  EXPECT_EQ(red->cells[1].unordered_with, 0);
  EXPECT_EQ(map_memory(snapshot, 0, {}).clashes, 0);
  finding.accesses[1].node.graph = 1;  // a race with another graph is none in this one
  EXPECT_EQ(map_of(snapshot, {finding}).clashes, 0);
  finding.accesses[1].node.graph = 0;
  finding.confidence = profiling::Confidence::Disproved;
  EXPECT_EQ(map_of(snapshot, {finding}).clashes, 0);
  finding.confidence = profiling::Confidence::Likely;
  snapshot.graphs[0].edges = {{.from = 0, .to = 1}, {.from = 1, .to = 2}};
  EXPECT_EQ(map_of(snapshot, {finding}).clashes, 0) << "an order is there";
}

TEST(PointerArrays, AreFoundWithTheNodesThatFillThem) {
  using engine::AllocationRole;
  using engine::Stage;
  const std::vector<engine::Allocation> memory = {
      {.role = AllocationRole::PointerArray, .owner = "addresses of X"},
      {.role = AllocationRole::Quantized, .owner = "X: rowwise codes"},
      {.role = AllocationRole::PointerArray, .owner = "offsets"}};
  const Snapshot snapshot = kernels_of(
      memory, {{Stage::Offsets, {0, 1}}, {Stage::Quantize, {1, 2}}, {Stage::Fprop, {0}}});
  const PointerArrays arrays = pointer_arrays(snapshot, snapshot.graphs[0], map_of(snapshot));
  EXPECT_EQ(arrays.products, std::vector<int>{2});
  EXPECT_EQ(arrays.fillers, std::vector<int>{0}) << "no product holds the array of offsets";
  const Snapshot plain = kernels_of(memory, {{Stage::Offsets, {0}}, {Stage::Fprop, {1}}});
  EXPECT_TRUE(pointer_arrays(plain, plain.graphs[0], map_of(plain)).products.empty());
}

}  // namespace
}  // namespace app
