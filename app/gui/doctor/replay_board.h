// A replay node by node while it is in progress: its marker board as a strip of squares, its checks
// as a grid, and the card of an ordinary run's replay that has stalled.
#pragma once

#include <chrono>
#include <vector>

#include "app/gui/cards/card_layout.h"
#include "app/gui/controls/panel_context.h"
#include "app/gui/graph/graph_key.h"
#include "app/gui/graph/graph_scene.h"
#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/snapshot.h"

namespace app {

/// Returns the clicked node, -1 = none. The scene's graph names the nodes; null = not known yet.
int draw_board(const PanelContext& context, const char* id, ImVec2 size,
               const std::vector<profiling::NodeState>& board, const GraphScene* scene);

/// What the colours of the grid below mean.
std::vector<KeyEntry> checks_key(const Theme& theme);
/// Replays across, outputs and their parts down: green where equal to the eager launches, else red.
void draw_checks_grid(const PanelContext& context, const char* id, ImVec2 size,
                      const profiling::Outcome& outcome);

/// While it is stalled: the run's answer comes only once its deadline has passed.
class LiveReplay {
 public:
  /// Call once per frame. True = a replay has been in progress long enough to show it.
  bool follow(const LinkStatus& link);
  /// Whether a frame is due although no pulse has changed: when the board appears, and every second
  /// for the clock in its text.
  bool tick();
  /// `graph`: that of an earlier run, for names; used if its number of nodes is the same. Null =
  /// none.
  void draw(const PanelContext& context, const Area& area, const GraphScene& scene);

 private:
  using Clock = std::chrono::steady_clock;

  bool in_progress() const { return !pulse_.board.empty(); }

  PulseReport pulse_;  // the newest pulse's replay, board and device; without a board: none
  Clock::time_point moved_at_{};
  Clock::time_point drawn_at_{};
};

}  // namespace app
