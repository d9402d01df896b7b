// What the Doctor view derives and says, without ImGui: how far a replay got, why it stalled, how
// long it may take.
#pragma once

#include <string>
#include <vector>

#include "profiling/hazards/model/doctor_report.h"

namespace app {

struct BoardCount {
  int done = 0;
  int running = 0;
  int not_reached = 0;
  int unmarked = 0;
};
BoardCount count_board(const std::vector<profiling::NodeState>& board);
/// "replay 2: 3 of 7 nodes done, running: 4  spin_kernel".
std::string board_text(const profiling::GraphSnapshot* graph, int replay,
                       const std::vector<profiling::NodeState>& board);

/// The triage sentence: which node, after how long, and what kind of stall.
std::string stall_text(const profiling::Snapshot& snapshot, const profiling::Stall& stall);

/// "right", "wrong from replay 2 on", "hung in replay 2", "refused", ...
std::string verdict_text(const profiling::Outcome& outcome);

enum class DeadlineMode { Automatic, Percentile, Seconds };
/// 0 = from the times of eager launches. `p99_seconds` of 0: not known.
double deadline_of(DeadlineMode mode, double factor, double seconds, double p99_seconds);

/// Indices, in the report's experiments, of the experiment that shows a finding's fault and of the
/// one that removes it; -1 = not run.
struct ProofRecords {
  int shows = -1;
  int cures = -1;
};
ProofRecords records_of(const profiling::DoctorReport& report, int finding);

}  // namespace app
