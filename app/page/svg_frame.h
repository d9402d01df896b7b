// The axes of a chart of the page: grid, ticks and titles, labelled as the window labels them.
#pragma once

#include <string>
#include <vector>

#include "app/page/svg_picture.h"
#include "app/plot/ticks.h"

namespace app {

struct ChartAxis {
  plot::AxisKind kind = plot::AxisKind::Number;
  std::string label{};   // with its unit, unless it is a time; empty = no title
  plot::Range limits{};  // shown from min to max; max may be the smaller one
  bool ticks = true;
};

/// Draws the axes into the picture when it is made, then maps values to points in it.
class SvgFrame {
 public:
  /// Within `outer`, whose margins the labels take. `left`: more room there, before the axis of y.
  SvgFrame(SvgPicture& picture, const SvgBox& outer, const ChartAxis& x, const ChartAxis& y,
           double left = 0.0);

  /// Values outside the limits are drawn at their end.
  double x(double value) const;
  double y(double value) const;
  const SvgBox& inner() const { return inner_; }

 private:
  SvgBox inner_;
  plot::Range x_;
  plot::Range y_;
};

/// Limits that show these values; `from_zero`: bars begin at it. Equal values get room around them.
plot::Range chart_limits(plot::Range values, bool from_zero);

}  // namespace app
