// One value per iteration or replay: dots joined by a line, folded to minimum and maximum per pixel
// where there are more points than pixels, with a line at the median.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "app/gui/plot/plot_frame.h"

namespace app::plot {

/// Values with the extremes of every kSeriesFold of them, so that a frame visits hundreds of values
/// and not all. Built once per run.
inline constexpr std::size_t kSeriesFold = 64;
struct FoldedSeries {
  std::vector<double> values;
  std::vector<Range> folds;

  Range extremes(std::size_t first,
                 std::size_t last) const;  // `last` is exclusive and larger than `first`
};
FoldedSeries fold_series(std::vector<double> values);

struct SeriesSpec {
  const char* id = "";
  ImVec2 size{};
  std::string x_label{};
  std::uint64_t generation = 0;  // identifies the values
  double x_offset = 0.0;         // of the first point
  double median = 0.0;           // NaN = no line
  ImU32 color = 0;
  const std::vector<bool>* marked = nullptr;  // a band at the bottom; empty or null = none
  ImU32 mark_color = 0;
  std::string mark_name{};  // of the band
};

/// Values in nanoseconds. Returns the index under the mouse or -1.
int draw_duration_series(const PanelContext& context, const SeriesSpec& spec,
                         const FoldedSeries& series, PlotView& view);

}  // namespace app::plot
