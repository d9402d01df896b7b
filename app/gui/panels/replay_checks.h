// The strip that says whether every replay equalled the eager run: one cell a replay, layer and
// product, green or red, the wrong experts named.
#pragma once

#include <string>
#include <vector>

#include "app/gui/plot/plot_frame.h"
#include "engine/model/run_result.h"

namespace app {

struct CheckSummary {
  int checks = 0;
  int wrong = 0;
  std::string sentence;
};

CheckSummary summarize_checks(const std::vector<engine::ReplayCheck>& checks);

/// Draws the strip with one row a layer and product; `view` is the replay axis.
void draw_replay_checks(const PanelContext& context, ImVec2 size,
                        const std::vector<engine::ReplayCheck>& checks, plot::PlotView& view);

}  // namespace app
