// Markers: behind each node of a graph, a node that writes a word of host memory, so that a replay
// that never ends shows how far it got. They are leaves, so they order nothing between the
// program's nodes. The program's graph stays as it is: what is instantiated in its place is a copy.
// Only where a person asked for it.
#pragma once

#include <cstdint>

#include "profiling/attach/preload/marker_words.h"

namespace attach {

/// From now on.
void mark_graphs();

/// An executable graph that was made from a copy with markers.
struct MarkedGraph {
  std::uint64_t address = 0;  // CUgraphExec; 0 = it was not
  std::uint64_t number = 0;   // GraphBegan::graph
  CUgraph copy = nullptr;
  MarkerWords words;
  std::uint64_t sampled = 0;  // hash of the words when they were looked at last
  std::uint64_t written = 0;  // of those in the newest frame; 0 = none
  std::uint64_t written_at = 0;
};

/// A copy of a graph, with markers, for the driver to instantiate or to update from; the graph
/// itself where there can be none, or where nobody asked for markers.
class MarkedCopy {
 public:
  explicit MarkedCopy(CUgraph graph);
  /// To update this executable graph, which may have been made from a marked copy.
  MarkedCopy(CUgraph graph, CUgraphExec exec);
  ~MarkedCopy();
  MarkedCopy(const MarkedCopy&) = delete;
  MarkedCopy& operator=(const MarkedCopy&) = delete;

  CUgraph graph() const { return copy_ != nullptr ? copy_ : graph_; }
  bool exists() const { return copy_ != nullptr; }
  /// The program's node for one of the copy's; null for a marker.
  CUgraphNode original(CUgraphNode node) const;
  /// The driver did not take it: back to the graph itself.
  void refused(CUresult result, const char* call);
  /// The executable graph was made from it, as number `number`. Says in a frame whether it is
  /// marked.
  void became(CUgraphExec exec, std::uint64_t number);

 private:
  bool make();
  bool add_markers();
  /// `order`: update_order() of the nodes.
  bool mark(const CUgraphNode* nodes, const std::uint32_t* order);
  /// False, with the reason; of a call, what it gave.
  bool fail(const char* why, CUresult result = CUDA_SUCCESS);
  void destroy();

  CUgraph graph_;
  CUgraph copy_ = nullptr;
  MarkerWords words_;
  bool own_words_ = false;  // not those of an executable graph
  const char* why_not_ = nullptr;
  CUresult result_ = CUDA_SUCCESS;
};

/// The node by which the driver knows it in this executable graph.
CUgraphNode node_in(CUgraphExec exec, CUgraphNode node);

/// Around the destruction of an executable graph, whose handle may be another one's at once.
class DestroyedMarkers {
 public:
  explicit DestroyedMarkers(CUgraphExec exec);
  /// What the destruction gave, which it returns.
  CUresult ended(CUresult result);

 private:
  MarkedGraph marked_;
};

/// In a forked child.
void drop_markers_of_parent();

}  // namespace attach
