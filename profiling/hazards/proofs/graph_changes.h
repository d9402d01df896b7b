// The changes an experiment makes to a captured graph: before it is instantiated (delays, order),
// and to the executable graph (addresses). They never run the caller's code again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/device/driver_api.h"
#include "engine/model/allocation.h"
#include "engine/model/error.h"
#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/snapshot/graph_reader.h"

namespace profiling {

/// Adds a delay between the node's predecessors and the node.
engine::Status delay_node(const engine::DriverApi& driver, CUgraph graph, const ReadGraph& read,
                          int node);

/// Adds a full edge from `first` to `second` in place of any other edge between them.
/// InvalidArgument if `second` already precedes `first`.
engine::Status order_nodes(const engine::DriverApi& driver, CUgraph graph, const ReadGraph& read,
                           int first, int second);

/// A range of addresses whose contents have moved.
struct Relocation {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t target = 0;  // new start of the range
  bool holds(std::uint64_t word) const { return word >= address && word - address < bytes; }
};

/// Moves a word that lies in one of the ranges; false if it lies in none.
bool relocate(std::uint64_t& word, std::span<const Relocation> ranges);

/// Moves the aligned words of `bytes` that lie in one of the ranges; false if none does.
bool relocate_words(std::span<std::byte> bytes, std::span<const Relocation> ranges);

/// Replaces every address of the node in the ranges, for launches from now on. The executable graph
/// gets the parameters of the capture with all of `ranges` applied: earlier changes to this node
/// are lost. False if the node holds no such address.
engine::Result<bool> relocate_node(const engine::DriverApi& driver, CUgraphExec executable,
                                   const ReadGraph& read, int node,
                                   std::span<const Relocation> ranges);

/// The memsets right before the node that only prepare its memory and so move with it.
std::vector<int> memsets_before(const GraphSnapshot& graph, int node);

/// A new buffer with the allocation's contents; zeros if the memory was released.
engine::Result<engine::DeviceBuffer> copy_elsewhere(const engine::Allocation& allocation);

}  // namespace profiling
