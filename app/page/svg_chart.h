// Small charts as SVG elements, from numbers alone: no text of a file gets into them.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace app {

/// A bar per value from 0, numbered from 0; empty for no finite value. Values that are not finite
/// have no bar. `unit` follows the figures of the axis.
std::string bar_chart(std::span<const double> values, const char* unit);

/// The values in their order, joined by a line; the axis begins at the smallest. Long series are
/// drawn as the range of each of 600 equal parts. `marked`: parts with one of these values are
/// marked; one per value, or empty.
std::string line_chart(std::span<const double> values, const char* unit,
                       const std::vector<bool>& marked = {});

/// Two histograms over the same bins, bin b being [2^((first + b) / per_octave), ...); a
/// logarithmic axis of counts.
struct Log2Histogram {
  int first = 0;
  std::span<const double> counts;
};
std::string histogram_chart(const Log2Histogram& before, const Log2Histogram& after,
                            int per_octave);

}  // namespace app
