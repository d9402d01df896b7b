// The order in which a snapshot lists the nodes of a graph.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace profiling {

/// Nodes 0 to count - 1 of one level, each after those it depends on and otherwise in the given
/// order, which is nearly always valid already: captures create nodes in one. `edges` are (from,
/// to), both below count. Nodes on a cycle, which no driver allows, are left out.
std::vector<std::size_t> dependency_order(
    std::size_t count, std::span<const std::pair<std::size_t, std::size_t>> edges);

}  // namespace profiling
