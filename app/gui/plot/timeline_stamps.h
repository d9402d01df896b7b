// Launches for all experts in the lanes of experts, as their stamped launches ran. Outlined and
// pale, as no record is: they are drawn, hovered and clicked, and are in no count of records.
#pragma once

#include <optional>
#include <vector>

#include "app/gui/plot/timeline_bands.h"
#include "profiling/trace/stamped_spans.h"

namespace app::plot {

/// Narrower launches show no experts: only their fold or record in the lane of all experts.
inline constexpr double kLeastStampedPixels = 16.0;

/// The unfolded launches among the blocks that have a pattern and are wide enough.
std::vector<StampedLaunch> stamped_launches(const TimelineLanes& lanes,
                                            const TimelineBlocks& drawn);

/// Nothing if it is not the first row of a lane of experts.
void draw_stamped(const PanelContext& context, const PlotFrame& frame,
                  const profiling::Activity& activity, const TimelineLanes& lanes, const Band& band,
                  const TimelineBlocks& drawn);

/// A launch whose experts of the band have tiles at a time.
struct StampedHover {
  StampedLaunch launch{};
  std::vector<profiling::ExpertTiles> experts{};
};
std::optional<StampedHover> stamped_at(const profiling::Activity& activity,
                                       const TimelineLanes& lanes, const Band& band,
                                       const TimelineBlocks& drawn, double time_ns);
void show_stamped(const PanelContext& context, const profiling::Activity& activity,
                  engine::StepKind step, const StampedHover& hover);

/// How the spans look, for their legend.
void draw_stamped_sample(const Theme& theme, ImDrawList* draw, ImVec2 min, ImVec2 max);

}  // namespace app::plot
