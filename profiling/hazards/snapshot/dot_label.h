// The label of one node in a file of cudaGraphDebugDotPrint(): which kind of node it is, and its
// parameters as far as the flags of that call had them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profiling/hazards/model/snapshot.h"

namespace profiling {

struct DotNode {
  SnapshotNode node = {};
  std::vector<std::string> children = {};  // labels of the graphs that it holds, "graph_3"
};

/// `shape` is the node's shape attribute: only it tells a kernel's name from a keyword in the short
/// form. Never fails: what is not understood is a node of type Unknown, or a parameter left out.
DotNode read_dot_label(std::string_view shape, std::string_view label);

/// Trimmed of blanks, tabs and line ends.
std::string_view trimmed(std::string_view text);

}  // namespace profiling
