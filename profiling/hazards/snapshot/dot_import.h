// Reads the output of cudaGraphDebugDotPrint() and PyTorch's debug_dump(). Names in these files are
// not escaped as the DOT language requires, so this parses lines, not the language.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "profiling/hazards/model/snapshot.h"
#include "profiling/hazards/snapshot/dot_label.h"

namespace profiling {

// The statements in a file of cudaGraphDebugDotPrint(): clusters, which are graphs, with their
// nodes and edges. Parsed by lines, because names in it are not escaped.

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

/// One graph per top-level cluster, degraded: topology, kernel names and launch sizes, memset and
/// memcpy operands as far as the file's flags included them. The file does not contain the kinds of
/// edges: programmatic ones are read as Full. InvalidArgument with line number and reason if the
/// file is not in this format, has an edge to an unknown node, a cycle, more than 64 MiB, or,
/// counting copies of child graphs, more than a million nodes or four million edges.
engine::Result<Snapshot> import_dot(std::string_view text, std::string_view file_name);

}  // namespace profiling
