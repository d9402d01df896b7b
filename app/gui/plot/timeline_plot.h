// Records of a run on one time axis: a lane per stream or thread, stage colours, folding below 3
// pixels that keeps counts and the longest. Cost a frame follows the pixels, not the records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/gui/plot/fold.h"
#include "app/gui/plot/plot_frame.h"
#include "profiling/trace/activity.h"

namespace app::plot {

struct TimelineLane {
  std::string label;
  std::vector<FoldedRow> rows;
  std::size_t records = 0;
};

/// Made once a run; indices point into the activity it was made from.
struct TimelineLanes {
  std::vector<TimelineLane> lanes;
  Range limits;
  std::size_t rows() const;
};
TimelineLanes make_timeline(const profiling::Activity& activity);

struct TimelineResult {
  bool selection_changed = false;
  std::size_t visible_records = 0;  // records that touch the view
  std::size_t drawn_blocks = 0;
};

TimelineResult draw_timeline(const PanelContext& context, const char* id, ImVec2 size,
                             const profiling::Activity& activity, const TimelineLanes& lanes,
                             PlotView& view);

}  // namespace app::plot
