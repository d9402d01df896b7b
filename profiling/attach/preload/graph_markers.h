// Markers: behind each node of a graph, a node that writes a word of host memory, so that a replay
// that never ends shows how far it got. They are leaves, so they order nothing between the
// program's nodes. The program's graph stays as it is: what is instantiated in its place is a copy.
// Only where a person asked for it.
#pragma once

#include <cstdint>

#include "profiling/attach/preload/marker_words.h"
#include "profiling/attach/preload/refusal.h"

namespace attach {

/// From now on.
void mark_graphs();

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
  /// The program's node for one of the copy's.
  CUgraphNode original(CUgraphNode node) const;
  /// The driver did not take it: back to the graph itself.
  void refused(CUresult result, const char* call);
  /// The executable graph was made from it, as number `number`. Says in a frame whether it is
  /// marked.
  void became(CUgraphExec exec, std::uint64_t number);

 private:
  Refusal make();
  Refusal add_markers();
  void destroy();

  CUgraph graph_;
  CUgraph copy_ = nullptr;
  MarkerWords words_;
  bool own_words_ = false;  // not those of an executable graph
  std::uint32_t markers_ = 0;
  Refusal why_not_;
};

/// The node by which the driver knows it in this executable graph.
CUgraphNode node_in(CUgraphExec exec, CUgraphNode node);

/// After the executable graph was destroyed.
void forget_markers(CUgraphExec exec);

/// In a forked child.
void drop_markers_of_parent();

}  // namespace attach
