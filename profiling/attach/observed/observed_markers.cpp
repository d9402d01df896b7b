// Markers of graphs: which have them, and how far replays got that stood still.
#include <fmt/format.h>

#include <utility>

#include "profiling/attach/observed/observed_process.h"
#include "profiling/hazards/model/node_states.h"

namespace profiling {

void ObservedProcess::take_marked(const SpoolFrame& frame) {
  spool::GraphMarked marked{};
  if (!frame.read(marked)) return;
  graphs_marked_ += marked.markers > 0;
  ObservedGraph* graph = find(marked.graph);
  if (graph == nullptr) return;
  graph->marked = marked.markers > 0;
  graph->unmarked.clear();
  if (graph->marked) return;
  graph->unmarked = frame.text_after(sizeof marked, 0, marked.why_bytes);
  constexpr std::uint32_t kNotSupported = 801;
  if (graph->unmarked == "cuGraphClone" && marked.result == kNotSupported) {
    graph->unmarked = "CUDA copies no graph with memory nodes or conditional nodes";
  } else if (marked.result != 0) {
    graph->unmarked += fmt::format(" gave error {}", marked.result);
  }
}

void ObservedProcess::take_marker_state(const SpoolFrame& frame) {
  spool::MarkerState state{};
  if (!frame.read(state)) return;
  ObservedGraph* graph = find(state.graph);
  if (graph == nullptr) return;
  if (state.nodes == 0) graph->replay = {};
  if (!graph->complete || state.nodes == 0 || state.nodes != graph->listed.size()) return;
  const std::span<const std::byte> bits = frame.after(sizeof state, 0, (state.nodes + 7) / 8);
  if (bits.empty()) return;
  const std::size_t count = graph->graph.nodes.size();
  std::vector<NodeMark> marks(count, NodeMark::None);
  for (std::size_t n = 0; n < state.nodes; ++n) {
    const bool ended = (std::to_integer<unsigned>(bits[n / 8]) >> n % 8 & 1U) != 0;
    marks[static_cast<std::size_t>(graph->listed[n])] = ended ? NodeMark::Set : NodeMark::Unset;
  }
  std::vector<std::vector<int>> dependencies(count);
  for (const SnapshotEdge& edge : graph->graph.edges)
    dependencies[static_cast<std::size_t>(edge.to)].push_back(edge.from);
  ObservedReplay& replay = graph->replay;
  replay = {.graph = state.graph, .seen = frame.time, .nodes = {}, .last_finished = -1};
  replay.nodes = node_states(dependencies, [&](std::size_t n) { return marks[n]; });
  for (std::size_t n = 0; n < count; ++n) {
    if (replay.nodes[n] == NodeState::Done) replay.last_finished = static_cast<int>(n);
  }
}

std::vector<ObservedReplay> ObservedProcess::replays_since(std::uint64_t time) const {
  std::vector<ObservedReplay> replays;
  for (const auto& [number, graph] : graphs_) {
    if (graph.replay.seen != 0 && graph.replay.seen >= time) replays.push_back(graph.replay);
  }
  return replays;
}

bool ObservedProcess::is_marked(std::uint64_t graph) const {
  const ObservedGraph* found = find(graph);
  return found != nullptr && found->marked;
}

std::string ObservedProcess::why_unmarked(std::uint64_t graph) const {
  const ObservedGraph* found = find(graph);
  return found == nullptr ? "" : found->unmarked;
}

}  // namespace profiling
