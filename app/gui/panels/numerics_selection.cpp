#include "app/gui/panels/numerics_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr int kBins = 1020;  // of finite magnitudes

SelectedSeries series_in(const char* name, const plot::Bins& bins, plot::Range snapped) {
  SelectedSeries series{.name = name, .count = bins.counted(snapped), .total = bins.total()};
  series.total += static_cast<double>(bins.zeros + bins.infinities + bins.nans);
  return series;
}

std::vector<std::uint64_t> scales_of_experts(const engine::ScaleMap& map, plot::Range snapped) {
  const bool folded = map.rows != map.source_rows || map.columns != map.source_columns;
  if (folded || map.expert_first_row.empty() || map.rows == 0) return {};
  std::vector<std::uint64_t> counts(map.expert_first_row.size() - 1, 0);
  // 1 / scale_inv may be an ulp or two below the scale that an edge was computed for.
  constexpr double kSlack = 1e-6;
  for (std::size_t expert = 0; expert < counts.size(); ++expert) {
    const auto columns = static_cast<std::size_t>(map.columns);
    const auto first = static_cast<std::size_t>(map.expert_first_row[expert]) * columns;
    const auto end = static_cast<std::size_t>(map.expert_first_row[expert + 1]) * columns;
    for (std::size_t cell = first; cell < end && cell < map.maximum.size(); ++cell) {
      const double scale = kSlack - static_cast<double>(map.maximum[cell]);
      if (scale >= snapped.min && scale < snapped.max) ++counts[expert];
    }
  }
  return counts;
}

}  // namespace

plot::Range snapped_to_bins(plot::Range range) {
  int first = -1;
  int last = -1;
  for (int bin = 4; bin < kBins; ++bin) {  // the bins below are subnormals
    const double centre =
        0.5 * (plot::magnitude_edge_log2(bin) + plot::magnitude_edge_log2(bin + 1));
    if (centre < range.min || centre > range.max) continue;
    if (first < 0) first = bin;
    last = bin;
  }
  if (first < 0) return {};
  return {plot::magnitude_edge_log2(first), plot::magnitude_edge_log2(last + 1)};
}

ValueSelection select_values(const NumericsModel& model, plot::Range range) {
  ValueSelection selection{.asked = range, .snapped = snapped_to_bins(range)};
  selection.series = {series_in("before", model.before(), selection.snapped),
                      series_in("after", model.after(), selection.snapped),
                      series_in("scale", model.scale(), selection.snapped),
                      series_in("amax", model.amax(), selection.snapped)};
  selection.scales_of_experts = scales_of_experts(model.statistics().scale_map, selection.snapped);
  return selection;
}

std::string selection_list(const ValueSelection& selection) {
  const std::string range =
      fmt::format("{:.4f}\t{:.4f}", selection.snapped.min, selection.snapped.max);
  std::string text = "series\tfrom_log2\tto_log2\tcount\tof\n";
  for (const SelectedSeries& series : selection.series) {
    text += fmt::format("{}\t{}\t{:.0f}\t{:.0f}\n", series.name, range, series.count, series.total);
  }
  for (std::size_t expert = 0; expert < selection.scales_of_experts.size(); ++expert) {
    text += fmt::format("scales of expert {}\t{}\t{}\t\n", expert, range,
                        selection.scales_of_experts[expert]);
  }
  return text;
}

}  // namespace app
