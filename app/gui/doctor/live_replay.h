// The marker board of an ordinary run's replay that has stalled, while it is stalled: the run's
// answer comes only once its deadline has passed.
#pragma once

#include <chrono>

#include "app/gui/cards/card_layout.h"
#include "app/gui/controls/panel_context.h"
#include "profiling/hazards/model/snapshot.h"

namespace app {

class LiveReplay {
 public:
  /// Call once per frame. True = a replay has been in progress long enough to show it.
  bool follow(const LinkStatus& link);
  /// Whether a frame is due although no pulse has changed: when the board appears, and every second
  /// for the clock in its text.
  bool tick();
  /// `graph`: that of an earlier run, for names; used if its number of nodes is the same. Null =
  /// none.
  void draw(const PanelContext& context, const Area& area, const profiling::GraphSnapshot* graph);

 private:
  using Clock = std::chrono::steady_clock;

  bool under_way() const { return !pulse_.board.empty(); }

  PulseReport pulse_;  // the newest pulse's replay, board and device; without a board: none
  Clock::time_point moved_at_{};
  Clock::time_point drawn_at_{};
};

}  // namespace app
