// How far a replay has got, from the markers of its nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiling/hazards/model/experiment.h"

namespace profiling {

/// What a node's marker says.
enum class NodeMark : std::uint8_t {
  None,   // the node has no marker
  Unset,  // it has not ended
  Set
};

/// `mark_of(n)` gives node n's NodeMark. A node runs once all its `dependencies` are past; nodes
/// follow their dependencies.
template <class MarkOf>
std::vector<NodeState> node_states(const std::vector<std::vector<int>>& dependencies,
                                   const MarkOf& mark_of) {
  std::vector<NodeState> nodes(dependencies.size(), NodeState::Unmarked);
  // One pass also determines the unmarked ones: they are past when all before them are.
  std::vector<bool> past(nodes.size(), false);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    bool ready = true;
    for (const int before : dependencies[n])
      ready = ready && past[static_cast<std::size_t>(before)];
    const NodeMark mark = mark_of(n);
    past[n] = mark == NodeMark::Set || (mark == NodeMark::None && ready);
    if (mark == NodeMark::None) continue;
    nodes[n] = mark == NodeMark::Set ? NodeState::Done
               : ready               ? NodeState::Running
                                     : NodeState::NotReached;
  }
  return nodes;
}

}  // namespace profiling
