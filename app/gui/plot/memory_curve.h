// Live memory as a step curve in a row of the timeline: what is held between two events, and the
// extremes where a pixel holds several. Cost a frame follows the pixels, not the events.
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
  double peak_bytes = 0.0;            // of it

  bool empty() const { return time_ns.empty(); }
  /// The last event at or before; size() = there is none.
  std::size_t before(double time_ns) const;
};
/// Made once a run.
MemoryCurve make_memory_curve(const profiling::Activity& activity);

/// Of the frame's view, between two heights; the peak of the whole run is the full height. Without
/// an event it says so.
void draw_memory_curve(const PanelContext& context, const PlotFrame& frame,
                       const MemoryCurve& curve, float top, float bottom);

/// What is live after event `index`.
std::vector<ReadOutLine> live_lines(const MemoryCurve& curve, std::size_t index);

/// One row an event: what it did, and what was live after it.
std::string memory_csv(const profiling::Activity& activity, const MemoryCurve& curve);

}  // namespace app::plot
