// Snapshots for tests of the rules, made by hand: nodes in order, edges between them, a ledger.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// One graph, captured between positions 100 and 200 of the ledger's clock; read at 300.
class HandMade {
 public:
  HandMade();

  /// Returns the allocation's address. Live from position 10 on by default.
  std::uint64_t allocate(std::string owner, engine::AllocationRole role, std::uint64_t bytes);
  /// Another one at the given address.
  engine::Allocation& allocate_at(std::uint64_t address, std::string owner,
                                  engine::AllocationRole role, std::uint64_t bytes);
  engine::Allocation& allocation(const std::string& owner);

  /// A new graph; the nodes that follow go there.
  GraphSnapshot& graph(std::string name);
  GraphSnapshot& graph() { return snapshot.graphs.back(); }

  /// Each returns the node's index. `after`: full edges from these.
  int kernel(std::string name, const std::vector<std::uint64_t>& words,
             const std::vector<int>& after = {});
  int memset(std::uint64_t address, std::uint64_t bytes, const std::vector<int>& after = {});
  int memcpy(MemcpyNode copy, const std::vector<int>& after = {});
  int node(NodeType type, NodeParameters parameters, const std::vector<int>& after = {});
  void edge(int from, int to, EdgeKind kind = EdgeKind::Full);

  KernelNode& kernel_at(int node);

  Snapshot snapshot;

 private:
  std::uint64_t next_address_ = 0x7f0000000000;
  std::uint64_t clock_ = 10;
};

/// The argument bytes of a kernel with these 8-byte parameters.
KernelNode kernel_of(const std::vector<std::uint64_t>& words);

}  // namespace profiling
