// Where an axis puts its ticks and how it labels them: steps of 1, 2 or 5 times a power of ten,
// whole exponents on log2 axes. No ImGui calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/plot/range.h"

namespace app::plot {

/// What the numbers of an axis mean; determines steps and labels.
enum class AxisKind {
  Number,       // plain, SI prefixes
  Integer,      // iterations, experts: never a tick between two of them
  Log2,         // the value is an exponent: labelled 2^e
  Log10Count,   // the value is log10 of a count: labelled 1, 10, 100, 1k
  Nanoseconds,  // times and durations: labelled in the unit that fits the view
  Decibel,
};

struct Tick {
  double value = 0.0;
  std::string label;
};

/// Smallest step of the form {1, 2, 5} * 10^i that gives at most `most` ticks in `span`.
double nice_step(double span, int most);
std::vector<Tick> ticks(AxisKind kind, Range view, int most);
/// The origin that time labels count from: 0 or, if the view is tiny compared to its distance from
/// 0, a round time shortly before it, so that nanoseconds of a long recording have labels that fit.
double tick_origin(Range view);

struct AxisTitle {
  std::string text{};
  double origin = 0.0;  // the value that labels are relative to
};
/// The label with the unit in which a time axis is labelled: "time, ms"; relative to a
/// tick_origin(), the unit and what it counts from.
AxisTitle axis_title(AxisKind kind, std::string_view label, Range view);

/// What stands for a title that has no room: its unit, "time of a step, ms" -> "ms"; empty = it has
/// none.
std::string unit_of_title(std::string_view title);

}  // namespace app::plot
