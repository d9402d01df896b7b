#include "app/gui/doctor/doctor_words.h"

#include <fmt/format.h>

#include "app/gui/graph/node_text.h"
#include "profiling/hazards/model/names.h"

namespace app {

using profiling::NodeState;

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

std::string board_text(const profiling::GraphSnapshot* graph, int replay,
                       const std::vector<NodeState>& board) {
  if (board.empty()) return "no replay is in progress";
  const BoardCount count = count_board(board);
  std::string text = fmt::format("replay {}: {} of {} nodes done", replay, count.done,
                                 static_cast<int>(board.size()) - count.unmarked);
  int named = 0;
  for (std::size_t i = 0; i < board.size() && graph != nullptr && named < 3; ++i) {
    if (board[i] != NodeState::Running) continue;
    text += (named++ == 0 ? ", running: " : "; ") + node_title(*graph, static_cast<int>(i));
  }
  if (count.running > named && named > 0)
    text += fmt::format(" and {} more", count.running - named);
  return text;
}

std::string stall_text(const profiling::Snapshot& snapshot, const profiling::Stall& stall) {
  const auto index = static_cast<std::size_t>(stall.graph);
  const profiling::GraphSnapshot* graph =
      stall.graph >= 0 && index < snapshot.graphs.size() ? &snapshot.graphs[index] : nullptr;
  std::string text = fmt::format("Replay {} did not end within {:.3g} s ({}): ", stall.replay,
                                 stall.waited_seconds, profiling::deadline_text(stall));
  text += fmt::format("{}.", profiling::name_of(stall.kind));
  int named = 0;
  for (std::size_t i = 0; i < stall.nodes.size() && graph != nullptr && named < 3; ++i) {
    if (stall.nodes[i] != NodeState::Running) continue;
    text += (named++ == 0 ? " Running: " : "; ") + node_title(*graph, static_cast<int>(i));
  }
  if (named > 0) text += ".";
  if (graph != nullptr && stall.last_finished >= 0) {
    text += " Last finished: " + node_title(*graph, stall.last_finished) + ".";
  }
  if (!stall.evidence.empty()) text += " Evidence: " + stall.evidence + ".";
  if (!stall.core_dump.empty()) text += " Core dump: " + stall.core_dump + ".";
  return text;
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

double deadline_of(DeadlineMode mode, double factor, double seconds, double p99_seconds) {
  switch (mode) {
    case DeadlineMode::Automatic:
      return 0.0;
    case DeadlineMode::Percentile:
      return factor * p99_seconds;
    case DeadlineMode::Seconds:
      return seconds;
  }
  return 0.0;
}

ProofRecords records_of(const profiling::DoctorReport& report, int finding) {
  ProofRecords records;
  if (finding < 0 || static_cast<std::size_t>(finding) >= report.findings.size()) return records;
  const profiling::Proof& proof = report.findings[static_cast<std::size_t>(finding)].proof;
  // The deadline of a visit is part of its experiments and changes nothing else.
  const auto same = [](profiling::Experiment made, const profiling::Experiment& wanted) {
    made.deadline_seconds = wanted.deadline_seconds;
    return made == wanted;
  };
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    const profiling::Experiment& made = report.experiments[i].experiment;
    if (records.shows < 0 && same(made, proof.shows)) records.shows = static_cast<int>(i);
    if (proof.needs_cure && records.cures < 0 && same(made, proof.cures)) {
      records.cures = static_cast<int>(i);
    }
  }
  return records;
}

}  // namespace app
