// Charts of numbers as pictures: bars, lines, histograms.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/page/svg_picture.h"
#include "profiling/document/document.h"

namespace app {

/// What every kind of chart has: its name, and what its axes show.
struct ChartWords {
  std::string title{};
  std::string item{};      // what the values are numbered by: "expert"
  std::string quantity{};  // what they measure: "time"
  profiling::Measure measure = profiling::Measure::Number;
  std::size_t first_item = 0;  // number of the first value
};

/// A bar per value from 0; empty for no finite value. Values that are not finite have no bar.
SvgPicture bar_chart(std::span<const double> values, const ChartWords& words);

/// The values in their order, joined by a line; the axis begins at the smallest. Long series are
/// drawn as the range of each of 600 equal parts. `marked`: parts with one of these values are
/// marked; one per value, or empty.
SvgPicture line_chart(std::span<const double> values, const ChartWords& words,
                      const std::vector<bool>& marked = {});

/// Two histograms over the same bins, bin b being [2^((first + b) / per_octave), ...); a
/// logarithmic axis of counts.
struct Log2Histogram {
  int first = 0;
  std::span<const double> counts;
};
SvgPicture histogram_chart(const Log2Histogram& before, const Log2Histogram& after, int per_octave,
                           const ChartWords& words);

/// A chart of a document.
SvgPicture chart_picture(const profiling::Chart& chart);

}  // namespace app
