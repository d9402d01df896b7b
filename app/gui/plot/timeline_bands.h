// Where the lanes of a timeline lie, the headings of their groups, and the names left of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/gui/plot/timeline_plot.h"

namespace app::plot {

/// A row of a lane on the screen.
struct Band {
  const LaneTraits* lane = nullptr;
  const profiling::TimelineLane* of = nullptr;
  const profiling::TimelineLod* row = nullptr;
  bool first_row = false;  // of its lane
  std::size_t index = 0;   // of TimelineBlocks::rows
  float top = 0.0F;
  float bottom = 0.0F;  // of its blocks
};

/// Where lanes and headings lie, from the top.
struct Bands {
  std::vector<Band> bands;
  std::vector<float> tops;  // of the shown lines
  float row_height = 0.0F;
  float heading_height = 0.0F;
};

Bands bands_of(const Theme& theme, const PlotFrame& frame, const TimelineLanes& lanes,
               const std::vector<LaneLine>& shown);
/// Group of the line at this height, if it has a heading.
std::string group_at(float y, const std::vector<LaneLine>& shown, const Bands& bands);
/// Identifies what is shown, for kept drawings.
std::uint64_t in_order(const std::vector<LaneLine>& shown);

/// Draws the names of lanes and headings left of the frame, only as many as do not overlap: lanes
/// may be lower than a line of text.
std::vector<LaneLabel> draw_lane_labels(const Theme& theme, const PlotFrame& frame, ImVec2 origin,
                                        const TimelineSpec& spec, const TimelineLanes& lanes,
                                        const std::vector<LaneLine>& shown, const Bands& bands);

}  // namespace app::plot
