// Live memory as a step curve in a row of the timeline: what is held between two events, and the
// extremes where a pixel covers several. The cost per frame depends on the pixels, not the events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "app/gui/plot/plot_frame.h"
#include "app/gui/plot/series_plot.h"
#include "profiling/trace/live_memory.h"

namespace app::plot {

struct MemoryCurve {
  std::vector<std::int64_t> time_ns;  // of the memory events, ascending
  profiling::LiveMemory live;         // after each of them
  FoldedSeries device;                // live.device_bytes
  double peak_bytes = 0.0;            // of `device`

  bool empty() const { return time_ns.empty(); }
  /// The last event at or before the time; size() = there is none.
  std::size_t before(double time_ns) const;
};
/// Built once per run.
MemoryCurve make_memory_curve(const profiling::Activity& activity);

/// Draws the part in the frame's view, between two heights; the peak of the whole run is the full
/// height. If there are no events it says so.
void draw_memory_curve(const PanelContext& context, const PlotFrame& frame,
                       const MemoryCurve& curve, float top, float bottom);

/// What is live after event `index`.
std::vector<ReadOutLine> live_lines(const MemoryCurve& curve, std::size_t index);

/// One row per event: what it did, and what was live after it.
std::string memory_csv(const profiling::Activity& activity, const MemoryCurve& curve);

}  // namespace app::plot
