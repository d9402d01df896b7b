// Histogram bins ready to draw: edges on the axis, counts, and separately the counts that have no
// place on a logarithmic axis (zeros, infinities, NaN). No ImGui calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/plot/range.h"
#include "engine/model/run_result.h"
#include "profiling/document/table.h"

namespace app::plot {

struct Bins {
  std::vector<double> edges;   // ascending, one more than counts
  std::vector<double> counts;  // per bin
  std::uint64_t zeros = 0;
  std::uint64_t infinities = 0;
  std::uint64_t nans = 0;

  Range range() const;  // of the non-empty bins; empty if there is none
  double total() const;
  /// Counts per unit of the axis: the drawn height, so that bins of unequal width compare by area.
  double density(std::size_t bin) const;
  /// Highest density of the bins that touch the view.
  double peak(Range view) const;
  /// Index of the bin at `value`, or -1.
  int find(double value) const;
  /// Edges of the bins whose centre lies in the range; empty if there is none.
  Range whole_bins(Range range) const;
  /// Sum of the counts of these bins.
  double counted(Range range) const;
};

struct NamedBins {
  std::string name;
  const Bins* bins = nullptr;
};
/// What the edges of bins are, and the end of their keys in files.
struct BinEdges {
  const char* suffix = "";
  profiling::Measure measure = profiling::Measure::Number;
};
inline constexpr BinEdges kLog2Edges{.suffix = "_log2"};
inline constexpr BinEdges kTimeEdges{.suffix = "_ns", .measure = profiling::Measure::Time};
inline constexpr BinEdges kCodeEdges{.measure = profiling::Measure::Count};
/// The bins that are not empty, then what has no bin. `key`: what the names are; `counts`: what is
/// in a bin. The bins must outlive the table.
profiling::Table bins_table(const char* key, std::vector<NamedBins> all, const BinEdges& edges,
                            const char* counts = "count");
/// log2 of the lower edge of a magnitude bin (FP32 bits >> 21: four bins per power of two, even in
/// the mantissa).
double magnitude_edge_log2(int bin);
Bins magnitude_bins(const engine::MagnitudeHistogram& histogram);
/// Linear bins over finite samples; the number of bins follows the square root of their count.
Bins linear_bins(std::span<const double> samples);

}  // namespace app::plot
