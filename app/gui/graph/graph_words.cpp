// Names of kernels are shortened, and lists cut after three: these are lines, not reports.
#include "app/gui/graph/graph_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/doctor/opened_report.h"
#include "app/doctor/report_words.h"
#include "app/gui/plot/format.h"
#include "engine/model/counted.h"
#include "profiling/hazards/model/names.h"

namespace app {

std::string node_title(engine::StepKind step, const profiling::GraphSnapshot& graph, int node,
                       const GraphFacts* facts) {
  if (node < 0 || static_cast<std::size_t>(node) >= graph.nodes.size()) {
    return fmt::format("node {}", node);
  }
  const profiling::SnapshotNode& one = graph.nodes[static_cast<std::size_t>(node)];
  const std::string_view name =
      one.name.empty() ? profiling::name_of(one.type) : std::string_view(one.name);
  const auto index = static_cast<std::size_t>(node);
  const bool derived = facts != nullptr && index < facts->operands.size();
  const std::string operation =
      node_operation(step, one, derived ? facts->operands[index] : std::string());
  return fmt::format("{}  {}", node, plot::work_name(operation, name));
}

std::string place_words(const std::string& place) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string words;
  for (auto at = place.begin(); at != place.end();) {
    const auto end = std::find_if_not(at, place.end(), is_digit);
    const std::string digits(at, end);
    // Beyond 19 digits it is no number of ours.
    words += digits.empty() || digits.size() > 19 ? digits : plot::count_text(std::stoull(digits));
    at = end;
    for (; at != place.end() && !is_digit(*at); ++at) words += *at;
  }
  return words;
}

std::string launch_text(const profiling::SnapshotNode& node) {
  const auto* kernel = std::get_if<profiling::KernelNode>(&node.parameters);
  if (kernel == nullptr) return "";
  const auto size = [](const profiling::Extent& extent) {
    return plot::extent_text(extent.x, extent.y, extent.z);
  };
  std::string text = fmt::format("grid {}, block {}", size(kernel->grid), size(kernel->block));
  if (kernel->cluster != profiling::Extent{}) {
    text += fmt::format(", cluster {}", size(kernel->cluster));
  }
  if (kernel->dynamic_shared_bytes != 0) {
    text += fmt::format(", {} shared", bytes_text(kernel->dynamic_shared_bytes));
  }
  if (kernel->cooperative) text += ", cooperative";
  return text;
}

std::string work_text(const profiling::SnapshotNode& node) {
  if (const auto* set = std::get_if<profiling::MemsetNode>(&node.parameters)) {
    return fmt::format("sets {} to {:#x}", bytes_text(set->bytes()), set->value);
  }
  if (const auto* copy = std::get_if<profiling::MemcpyNode>(&node.parameters)) {
    return fmt::format("copies {} from {} to {}", bytes_text(copy->bytes),
                       profiling::name_of(copy->source_space),
                       profiling::name_of(copy->target_space));
  }
  if (const auto* alloc = std::get_if<profiling::MemAllocNode>(&node.parameters)) {
    return fmt::format("allocates {} at {:#x}", bytes_text(alloc->bytes), alloc->address);
  }
  if (const auto* release = std::get_if<profiling::MemFreeNode>(&node.parameters)) {
    return fmt::format("frees {:#x}", release->address);
  }
  if (const auto* branch = std::get_if<profiling::ConditionalNode>(&node.parameters)) {
    return fmt::format("{}, {}", profiling::name_of(branch->condition),
                       engine::counted(branch->bodies, "body", "bodies"));
  }
  return "";
}

std::string target_text(const profiling::Snapshot& snapshot, const profiling::Touch& touch) {
  if (touch.allocation < 0 ||
      static_cast<std::size_t>(touch.allocation) >= snapshot.ledger.size()) {
    return fmt::format("{:#x}", touch.word);
  }
  const engine::Allocation& memory = snapshot.ledger[static_cast<std::size_t>(touch.allocation)];
  const std::string name = profiling::allocation_name(memory);
  const std::uint64_t offset = touch.word - memory.address;
  return (offset == 0 ? name : fmt::format("{} + {} B", name, plot::count_text(offset))) +
         (memory.live() ? "" : " (freed)");
}

std::vector<profiling::Touch> touches_of(const MemoryMap& memory, int node) {
  const auto [first, last] = std::equal_range(
      memory.touches.begin(), memory.touches.end(), profiling::Touch{.node = node},
      [](const profiling::Touch& a, const profiling::Touch& b) { return a.node < b.node; });
  return {first, last};
}

using profiling::NodeState;

ImU32 confidence_color(const Theme& theme, profiling::Confidence confidence) {
  switch (confidence) {
    case profiling::Confidence::Proved:
    case profiling::Confidence::Likely:
      return theme.colors.bad;
    case profiling::Confidence::Possible:
      return theme.colors.warn;
    case profiling::Confidence::Disproved:
      return theme.colors.good;
  }
  return theme.colors.line;
}

BoardCount count_board(const std::vector<NodeState>& board) {
  BoardCount count;
  for (const NodeState state : board) {
    ++(state == NodeState::Done         ? count.done
       : state == NodeState::Running    ? count.running
       : state == NodeState::NotReached ? count.not_reached
                                        : count.unmarked);
  }
  return count;
}

std::string board_text(engine::StepKind step, const profiling::GraphSnapshot* graph, int replay,
                       const std::vector<NodeState>& board) {
  if (board.empty()) return "no replay is in progress";
  const BoardCount count = count_board(board);
  std::string text = fmt::format("replay {}: {} of {} nodes done", replay, count.done,
                                 static_cast<int>(board.size()) - count.unmarked);
  int named = 0;
  for (std::size_t i = 0; i < board.size() && graph != nullptr && named < 3; ++i) {
    if (board[i] != NodeState::Running) continue;
    text += (named++ == 0 ? ", running: " : "; ") + node_title(step, *graph, static_cast<int>(i));
  }
  if (count.running > named && named > 0)
    text += fmt::format(" and {} more", count.running - named);
  return text;
}

namespace {

std::string core_dump_words(const profiling::Stall& stall) {
  if (stall.core_dump.empty()) return "";
  const std::string place = profiling::core_place_text(stall.core);
  return " Core dump: " + (place.empty() ? "" : place + "; ") + stall.core_dump + ".";
}

}  // namespace

std::string stall_text(const profiling::Snapshot& snapshot, const profiling::Stall& stall) {
  const auto index = static_cast<std::size_t>(stall.graph);
  const profiling::GraphSnapshot* graph =
      stall.graph >= 0 && index < snapshot.graphs.size() ? &snapshot.graphs[index] : nullptr;
  if (examines_attached(snapshot)) {
    std::string words =
        fmt::format("{} No progress for {:.3g} s ({}). {}", hang_sentence(snapshot, stall),
                    stall.waited_seconds, profiling::deadline_text(stall), stall.evidence);
    return words + core_dump_words(stall);
  }
  std::string text = fmt::format("Replay {} did not end within {:.3g} s ({}): ", stall.replay,
                                 stall.waited_seconds, profiling::deadline_text(stall));
  text += fmt::format("{}.", profiling::name_of(stall.kind));
  int named = 0;
  for (std::size_t i = 0; i < stall.nodes.size() && graph != nullptr && named < 3; ++i) {
    if (stall.nodes[i] != NodeState::Running) continue;
    text += (named++ == 0 ? " Running: " : "; ") +
            node_title(snapshot.step, *graph, static_cast<int>(i));
  }
  if (named > 0) text += ".";
  if (graph != nullptr && stall.last_finished >= 0) {
    text += " Last finished: " + node_title(snapshot.step, *graph, stall.last_finished) + ".";
  }
  if (!stall.evidence.empty()) text += " Evidence: " + stall.evidence + ".";
  return text + core_dump_words(stall);
}

std::string verdict_text(const profiling::Outcome& outcome) {
  const int first = profiling::first_wrong_replay(outcome);
  if (outcome.verdict == profiling::Verdict::Wrong && first > 0) {
    return fmt::format("wrong from replay {} on", first);
  }
  if (outcome.verdict == profiling::Verdict::Hung && !outcome.stall.empty()) {
    return fmt::format("hung in replay {}", outcome.stall.front().replay);
  }
  return std::string(profiling::name_of(outcome.verdict));
}

}  // namespace app
