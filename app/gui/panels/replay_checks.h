// The strip that says whether every replay equalled the eager run: one cell a replay, layer and
// product, green or red, the wrong experts named.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/gui/plot/grid_fold.h"
#include "app/gui/plot/plot_frame.h"
#include "engine/model/run_result.h"

namespace app {

struct CheckSummary {
  int checks = 0;
  int wrong = 0;
  std::string sentence;
};

CheckSummary summarize_checks(const std::vector<engine::ReplayCheck>& checks);

/// What the strip draws, made once a run: hundreds of thousands of checks fit no frame.
struct CheckStrip {
  std::vector<std::string> labels;  // of the rows: layers in order, in each its products
  /// [rows, replays]: 1 = wrong, 0 = equal, NaN = not compared. Folds keep what is wrong.
  plot::Grid grid;
  std::vector<std::int32_t> check_of;  // [rows, replays], index into the checks; -1 = none
};
CheckStrip make_check_strip(const std::vector<engine::ReplayCheck>& checks);

/// One row a layer and product; `view` is the replay axis. `checks` are those of the strip.
void draw_replay_checks(const PanelContext& context, ImVec2 size, const CheckStrip& strip,
                        const std::vector<engine::ReplayCheck>& checks, plot::PlotView& view);

}  // namespace app
