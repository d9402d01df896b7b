// View transform of one axis: intervals in double, so that nanoseconds of a long run keep their
// precision; pixels become float only after the view's start was subtracted. No ImGui calls.
#pragma once

#include <limits>

namespace app::plot {

struct Range {
  double min = 0.0;
  double max = 0.0;

  double span() const { return max - min; }
  bool empty() const { return !(max > min); }
  bool contains(double value) const { return value >= min && value < max; }
  bool operator==(const Range&) const = default;
};

/// Holds no value yet: the first one that is added is both its ends.
inline constexpr Range kNoValues{std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity()};
inline bool has_values(Range range) { return range.max >= range.min; }
/// As wide as needed to hold the value, too; one that is not finite changes nothing.
Range widened(Range range, double value);

/// Scales the view so that the value at `anchor` stays under the cursor. factor < 1 zooms in. The
/// result stays inside `limits` and is never narrower than `min_span`.
Range zoomed(Range view, double anchor, double factor, Range limits, double min_span);
/// Moves the view by `offset`, stopping at the limits without changing the span.
Range panned(Range view, double offset, Range limits);
/// The part of `view` that lies inside `limits`; `limits` itself if nothing does.
Range clamped(Range view, Range limits);
/// Wider by `fraction` of the span on both sides; an empty range gets a span of 1 around itself.
Range padded(Range range, double fraction);
/// Ordered, in whichever direction the drag went.
Range between(double a, double b);

/// Linear map of a view onto pixels. first > last flips the axis (y grows upwards on screen).
struct AxisMap {
  Range view;
  double first_pixel = 0.0;
  double last_pixel = 1.0;

  double pixels_per_unit() const { return (last_pixel - first_pixel) / view.span(); }
  float to_pixel(double value) const;
  double to_value(double pixel) const;
};

}  // namespace app::plot
