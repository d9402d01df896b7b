// A value per iteration or replay: dots joined by a line, folded to minimum and maximum per pixel
// where there are more points than pixels, with a line at the median.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/gui/plot/plot_frame.h"

namespace app::plot {

struct SeriesSpec {
  const char* id = "";
  ImVec2 size{};
  std::string x_label{};
  double x_offset = 0.0;  // of the first point
  double median = 0.0;    // NaN = no line
  ImU32 color = 0;
};

/// `values` in nanoseconds. Returns the index under the mouse or -1.
int draw_duration_series(const PanelContext& context, const SeriesSpec& spec,
                         std::span<const double> values, PlotView& view);

}  // namespace app::plot
