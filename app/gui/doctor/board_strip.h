// The marker board of a replay: one cell per node, coloured by state.
#pragma once

#include <vector>

#include "app/gui/controls/panel_context.h"
#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/snapshot.h"

namespace app {

/// Returns the clicked node, -1 = none. `graph` names the nodes; null = not known yet.
int draw_board(const PanelContext& context, const char* id, ImVec2 size,
               const std::vector<profiling::NodeState>& board,
               const profiling::GraphSnapshot* graph);

/// Replays across, outputs and their parts down: green where equal to the eager launches, else red.
void draw_checks_grid(const PanelContext& context, const char* id, ImVec2 size,
                      const profiling::Outcome& outcome);

}  // namespace app
