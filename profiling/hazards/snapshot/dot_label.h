// The label of one node in a file of cudaGraphDebugDotPrint(): the kind of node, and its parameters
// as far as the flags of that call included them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profiling/hazards/model/snapshot.h"

namespace profiling {

struct DotNode {
  SnapshotNode node = {};
  std::vector<std::string> children = {};  // labels of the graphs that it contains, "graph_3"
};

/// `shape` is the node's shape attribute: only it distinguishes a kernel's name from a keyword in
/// the short form. Never fails: unknown text gives a node of type Unknown, or a missing
/// parameter.
DotNode read_dot_label(std::string_view shape, std::string_view label);

/// Without leading and trailing blanks, tabs and line ends.
std::string_view trimmed(std::string_view text);

}  // namespace profiling
