// Interval arithmetic of the plots' views.
#include "app/plot/range.h"

#include <algorithm>
#include <cmath>

namespace app::plot {

Range zoomed(Range view, double anchor, double factor, Range limits, double min_span) {
  const double span =
      std::clamp(view.span() * factor, std::min(min_span, limits.span()), limits.span());
  const double part = view.empty() ? 0.5 : (anchor - view.min) / view.span();
  Range result{anchor - part * span, anchor + (1.0 - part) * span};
  return panned(result, 0.0, limits);
}

Range panned(Range view, double offset, Range limits) {
  const double span = view.span();
  if (span >= limits.span()) return limits;
  double start = view.min + offset;
  start = std::clamp(start, limits.min, limits.max - span);
  return {start, start + span};
}

Range clamped(Range view, Range limits) {
  const Range inside{std::max(view.min, limits.min), std::min(view.max, limits.max)};
  return inside.empty() ? limits : inside;
}

Range padded(Range range, double fraction) {
  if (range.empty()) return {range.min - 0.5, range.min + 0.5};
  const double margin = range.span() * fraction;
  return {range.min - margin, range.max + margin};
}

Range widened(Range range, double value) {
  if (!std::isfinite(value)) return range;
  return {std::min(range.min, value), std::max(range.max, value)};
}

Range between(double a, double b) { return {std::min(a, b), std::max(a, b)}; }

float AxisMap::to_pixel(double value) const {
  // Clipped well outside the screen: far-off coordinates are slow to draw and lose precision.
  const double pixel = first_pixel + (value - view.min) * pixels_per_unit();
  const double low = std::min(first_pixel, last_pixel);
  const double high = std::max(first_pixel, last_pixel);
  constexpr double kOverhang = 64.0;
  if (std::isnan(pixel)) return static_cast<float>(low - kOverhang);  // nowhere: not on screen
  return static_cast<float>(std::clamp(pixel, low - kOverhang, high + kOverhang));
}

double AxisMap::to_value(double pixel) const {
  return view.min + (pixel - first_pixel) / pixels_per_unit();
}

}  // namespace app::plot
