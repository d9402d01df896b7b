#include "app/gui/doctor/stall_rows.h"

#include <algorithm>

namespace app {
namespace {

using profiling::NodeState;

/// In at most `most` rows; with `last`, the last nodes keep theirs, else the first.
void add_rows(NodeState state, const std::vector<int>& nodes, std::size_t most, bool last,
              std::vector<StallRow>& rows) {
  if (nodes.empty()) return;
  const bool all = nodes.size() <= most;
  const std::size_t own = all ? nodes.size() : most - 1;
  const StallRow folded{.state = state, .count = static_cast<int>(nodes.size() - own)};
  if (!all && last) rows.push_back(folded);
  const std::size_t first = last ? nodes.size() - own : 0;
  for (std::size_t i = first; i < first + own; ++i) {
    rows.push_back({.state = state, .node = nodes[i]});
  }
  if (!all && !last) rows.push_back(folded);
}

std::vector<int> nodes_in(const std::vector<NodeState>& nodes, NodeState state) {
  std::vector<int> found;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] == state) found.push_back(static_cast<int>(i));
  }
  return found;
}

}  // namespace

std::vector<StallRow> stall_rows(const std::vector<NodeState>& nodes, std::size_t most) {
  most = std::max<std::size_t>(most, 8);
  const std::vector<int> done = nodes_in(nodes, NodeState::Done);
  const std::vector<int> running = nodes_in(nodes, NodeState::Running);
  const std::vector<int> waiting = nodes_in(nodes, NodeState::NotReached);
  const std::vector<int> unmarked = nodes_in(nodes, NodeState::Unmarked);
  // Where it stands first: the rest is shared by what came before and what would have followed.
  std::size_t left = most - (unmarked.empty() ? 0 : 1);
  const std::size_t for_running = std::min(running.size(), left / 2);
  left -= for_running;
  const std::size_t for_waiting =
      std::min(waiting.size(), std::max(left / 2, left - std::min(left, done.size())));
  std::vector<StallRow> rows;
  add_rows(NodeState::Done, done, left - for_waiting, true, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].place = static_cast<int>(i);
  add_rows(NodeState::Running, running, for_running, false, rows);
  add_rows(NodeState::NotReached, waiting, for_waiting, false, rows);
  if (!unmarked.empty()) {
    rows.push_back({.state = NodeState::Unmarked,
                    .node = unmarked.size() == 1 ? unmarked.front() : -1,
                    .count = static_cast<int>(unmarked.size())});
  }
  return rows;
}

}  // namespace app
