// A report in words, for read-outs, details and tables: nodes, launches, addresses; a replay's
// marker board, stalls and verdicts; and the colour of a finding.
#pragma once

#include <string>
#include <vector>

#include "app/gui/plot/format.h"
#include "app/gui/theme/theme.h"
#include "app/plot/graph_facts.h"
#include "profiling/hazards/model/doctor_report.h"
#include "profiling/hazards/model/snapshot.h"

namespace app {

/// "1  quantize X, rowwise  tile_kernel": its index, its operation and its short name. In
/// recordings without operations "1  quantize X  tile_kernel" where `facts` know the operand (null
/// = not derived yet), else "4  nvjet_sm90_qqtst".
std::string node_title(engine::StepKind step, const profiling::GraphSnapshot& graph, int node,
                       const GraphFacts* facts = nullptr);
/// The numbers in it in groups of three digits: "parameter byte 1 648".
std::string place_words(const std::string& place);
/// "grid 132 x 1 x 1, block 384"; empty if it is not a kernel or not known.
std::string launch_text(const profiling::SnapshotNode& node);
/// What a node other than a kernel does: "memset 4 096 B to 0", "copy 64 B from pageable host to
/// device".
std::string work_text(const profiling::SnapshotNode& node);
/// "workspace of fprop, layer 0 + 1 024 B".
std::string target_text(const profiling::Snapshot& snapshot, const profiling::Touch& touch);
/// The touches of one node; they are ascending by node.
std::vector<profiling::Touch> touches_of(const MemoryMap& memory, int node);

using plot::bytes_text;

/// Red for what is likely or proved.
ImU32 confidence_color(const Theme& theme, profiling::Confidence confidence);

struct BoardCount {
  int done = 0;
  int running = 0;
  int not_reached = 0;
  int unmarked = 0;
};
BoardCount count_board(const std::vector<profiling::NodeState>& board);
/// "replay 2: 3 of 7 nodes done, running: 4  spin_kernel".
std::string board_text(engine::StepKind step, const profiling::GraphSnapshot* graph, int replay,
                       const std::vector<profiling::NodeState>& board);

/// The triage sentence: which node, after how long, and what kind of stall.
std::string stall_text(const profiling::Snapshot& snapshot, const profiling::Stall& stall);

/// "right", "wrong from replay 2 on", "hung in replay 2", "refused", ...
std::string verdict_text(const profiling::Outcome& outcome);

}  // namespace app
