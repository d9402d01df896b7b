// The marker board: after every kernel node of a graph, a node that writes 1 to a word of host
// memory. The writes are leaves, so they order nothing and hide no fault; the host reads them with
// plain loads, even while the device is stuck.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/buffer.h"
#include "engine/device/driver_api.h"
#include "engine/model/error.h"
#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/snapshot/graph_reader.h"

namespace profiling {

class MarkerBoard {
 public:
  /// Call before the graph is instantiated. Top-level kernel nodes get a marker.
  static engine::Result<MarkerBoard> add(const engine::DriverApi& driver, CUgraph graph,
                                         const ReadGraph& read);

  /// Call before every replay: a marker only ever writes 1.
  void clear();
  int count() const { return static_cast<int>(count_); }
  const volatile std::uint32_t* words() const { return words_.as<std::uint32_t>(); }
  /// Word index of each node of the snapshot; -1 = none.
  const std::vector<int>& slots() const { return slots_; }
  /// For each node, the nodes it waits for.
  const std::vector<std::vector<int>>& dependencies() const { return dependencies_; }
  std::vector<NodeState> read() const;

 private:
  engine::PinnedBuffer words_;
  std::size_t count_ = 0;
  std::vector<int> slots_;
  std::vector<std::vector<int>> dependencies_;
};

}  // namespace profiling
