// Overlaid histograms on one axis. Heights are densities (count per unit of the axis), so that bins
// of unequal width compare by area; values that have no place on the axis (0, inf, NaN) are in end
// bins.
#pragma once

#include <string>
#include <vector>

#include "app/gui/plot/bins.h"
#include "app/gui/plot/plot_frame.h"

namespace app::plot {

struct HistogramSeries {
  std::string name{};
  ImU32 color = 0;
  const Bins* bins = nullptr;
  bool filled = true;
};

struct HistogramSpec {
  const char* id = "";
  ImVec2 size{};
  Axis x{};               // limits = what fits all series
  std::string y_label{};  // "values per octave"
  bool log_y = false;
  bool per_bin = false;  // bins of equal width: heights are plain counts
  bool shares = false;   // counts are already percent of their series
  bool end_bins = true;  // zeros left, infinities and NaN right
  bool selectable = false;
  /// End bins that a plot above or below has: reserving their room keeps the axes aligned.
  int reserved_left = 0;
  int reserved_right = 0;
};

/// Union of the series' ranges with a small margin, whole octaves on a log2 axis. {} if all are
/// empty.
Range histogram_limits(const std::vector<const Bins*>& all, AxisKind kind);
/// True for a click without a drag.
bool draw_histogram(const PanelContext& context, const HistogramSpec& spec,
                    const std::vector<HistogramSeries>& series, PlotView& view);

}  // namespace app::plot
