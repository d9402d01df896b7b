// Records of a run on one time axis: a lane per stream or thread, stage colours, folding below 3
// pixels that keeps counts and the longest. Cost a frame follows the pixels, not the records.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/gui/plot/plot_frame.h"
#include "profiling/trace/activity.h"
#include "profiling/trace/timeline_lanes.h"

namespace app::plot {

enum class LaneChoice { Streams, Replays, Experts };

/// Made once a run and choice; refers to the activity and spans it was made from, which must
/// outlive it.
struct TimelineLanes {
  LaneChoice choice = LaneChoice::Streams;
  std::vector<profiling::TimelineLane> lanes;
  std::vector<std::string> labels;  // one a lane
  Range limits;
  Range timed;  // of the timed iterations; empty when there are none
  std::size_t rows() const;
  std::size_t memory_bytes() const;
};
/// `spans`: profiling::iteration_spans(). Limits are left to the caller.
TimelineLanes make_timeline(const profiling::Activity& activity,
                            std::span<const profiling::ActivityRecord> spans, LaneChoice choice);

struct TimelineResult {
  bool selection_changed = false;
  std::size_t visible_records = 0;  // records that touch the view
  std::size_t drawn_blocks = 0;
  ImVec2 inner_min{};  // where the lanes are: what lies over them is drawn by others
  ImVec2 inner_max{};
};

TimelineResult draw_timeline(const PanelContext& context, const char* id, ImVec2 size,
                             const profiling::Activity& activity, const TimelineLanes& lanes,
                             PlotView& view);

}  // namespace app::plot
