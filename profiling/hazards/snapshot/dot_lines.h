// The statements in a file of cudaGraphDebugDotPrint(): clusters, which are graphs, with their
// nodes and edges. Parsed by lines, because names in it are not escaped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "profiling/hazards/snapshot/dot_label.h"

namespace profiling {

/// Largest file of this kind that is read, copies of child graphs counted.
inline constexpr std::size_t kMaxDotNodes = 1'000'000;
inline constexpr std::size_t kMaxDotEdges = 4'000'000;

struct DotEdge {
  std::size_t from = 0;  // indices into DotGraph::nodes
  std::size_t to = 0;
  int line = 0;  // 1-based
};

struct DotGraph {
  std::string label;  // "graph_1": how nodes of other graphs refer to it
  int line = 0;
  std::vector<DotNode> nodes = {};
  std::vector<DotEdge> edges = {};
};

/// In file order. The error names line and reason.
engine::Result<std::vector<DotGraph>> read_dot_graphs(std::string_view text);

}  // namespace profiling
