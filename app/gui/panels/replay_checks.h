// The strip that shows whether every replay equalled the eager run: one cell per replay, layer and
// product, green or red, with the wrong experts named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "app/gui/plot/plot_frame.h"
#include "app/plot/grid_fold.h"
#include "engine/model/run_result.h"

namespace app {

struct CheckSummary {
  int checks = 0;
  int wrong = 0;
  std::string sentence;
};

/// `step` says what the layers of the checks count.
CheckSummary summarize_checks(const std::vector<engine::ReplayCheck>& checks,
                              engine::StepKind step);

/// What the strip draws, built once per run: hundreds of thousands of checks are too many for each
/// frame.
struct CheckStrip {
  engine::StepKind step = engine::StepKind::Linear;
  std::vector<std::string> labels{};  // of the rows: layers in order, and the products of each
  /// [rows, replays]: 1 = wrong, 0 = equal, NaN = not compared. Folding keeps the wrong ones.
  plot::Grid grid{};
  std::vector<std::int32_t> check_of{};  // [rows, replays], index into the checks; -1 = none
};
/// Number of cells in a strip of these: one check of a late replay already makes very many.
std::size_t strip_cells(const std::vector<engine::ReplayCheck>& checks);
CheckStrip make_check_strip(const std::vector<engine::ReplayCheck>& checks, engine::StepKind step);

/// One row per layer and product; `view` is the replay axis. `checks` are those of the strip.
void draw_replay_checks(const PanelContext& context, ImVec2 size, const CheckStrip& strip,
                        const std::vector<engine::ReplayCheck>& checks, plot::PlotView& view);

}  // namespace app
