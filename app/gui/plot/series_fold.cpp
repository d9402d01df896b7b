// Extremes of a series, using whole folds where possible.
#include <algorithm>
#include <utility>

#include "app/gui/plot/series_plot.h"

namespace app::plot {

FoldedSeries fold_series(std::vector<double> values) {
  FoldedSeries series;
  for (std::size_t first = 0; first < values.size(); first += kSeriesFold) {
    const std::size_t last = std::min(first + kSeriesFold, values.size());
    Range fold{values[first], values[first]};
    for (std::size_t i = first; i < last; ++i) {
      fold = {std::min(fold.min, values[i]), std::max(fold.max, values[i])};
    }
    series.folds.push_back(fold);
  }
  series.values = std::move(values);
  return series;
}

Range FoldedSeries::extremes(std::size_t first, std::size_t last) const {
  Range range{values[first], values[first]};
  for (std::size_t i = first; i < last;) {
    if (i % kSeriesFold == 0 && i + kSeriesFold <= last) {
      const Range& fold = folds[i / kSeriesFold];
      range = {std::min(range.min, fold.min), std::max(range.max, fold.max)};
      i += kSeriesFold;
    } else {
      range = {std::min(range.min, values[i]), std::max(range.max, values[i])};
      ++i;
    }
  }
  return range;
}

}  // namespace app::plot
