#include "engine/quantize/statistics_fold.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "engine/quantize/channel_fold.h"
#include "kernels/dequantize/decode_rule.h"

namespace engine {

namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

/// Folds scales one by one into the cells of a ScaleMap and into its summary.
class ScaleFolder {
 public:
  /// `geometry`: blocks, source sides and the experts' first rows; the rest is made here.
  ScaleFolder(ScaleMap geometry, bool with_losses)
      : map_(std::move(geometry)), with_losses_(with_losses) {
    map_.rows = static_cast<int>(std::min<std::int64_t>(map_.source_rows, kScaleMapCells));
    map_.columns = static_cast<int>(std::min<std::int64_t>(map_.source_columns, kScaleMapCells));
    const auto cells = static_cast<std::size_t>(map_.rows) * static_cast<std::size_t>(map_.columns);
    cells_.resize(cells);
    map_.maximum.assign(cells, kNone);
    map_.minimum.assign(cells, kNone);
  }

  /// Factors that are not finite and above 0 count for nothing but their elements' losses.
  void add(const ScalePlace& place, float factor, const kernels::BlockLosses& losses) {
    const auto index =
        static_cast<std::size_t>(place.row * map_.rows / map_.source_rows * map_.columns +
                                 place.column * map_.columns / map_.source_columns);
    Cell& cell = cells_[index];
    cell.elements += place.elements;
    cell.saturated += losses.saturated;
    cell.underflowed += losses.underflowed;
    map_.summary.saturated += losses.saturated > 0 ? 1 : 0;
    map_.summary.underflowed += losses.underflowed > 0 ? 1 : 0;
    if (!std::isfinite(factor) || factor <= 0.0F) return;
    const float exponent = std::log2(factor);
    // Comparisons with NaN, the initial value of a cell, are false.
    map_.maximum[index] = std::fmax(map_.maximum[index], exponent);
    map_.minimum[index] = std::fmin(map_.minimum[index], exponent);
    add_exponent(exponent, cell);
    add_exponent(exponent, all_);
    distinct_.insert(std::bit_cast<std::uint32_t>(factor));
  }

  /// Call once, at the end.
  ScaleMap take() {
    for (const Cell& cell : cells_) {
      map_.mean.push_back(cell.scales > 0 ? static_cast<float>(mean(cell)) : kNone);
      map_.deviation.push_back(cell.scales > 0 ? static_cast<float>(deviation(cell)) : kNone);
      if (!with_losses_) continue;
      const auto share = [&cell](std::uint64_t count) {
        return cell.elements > 0 ? static_cast<float>(static_cast<double>(count) /
                                                      static_cast<double>(cell.elements))
                                 : kNone;
      };
      map_.saturated_share.push_back(share(cell.saturated));
      map_.underflowed_share.push_back(share(cell.underflowed));
    }
    map_.summary.scales = static_cast<std::uint64_t>(all_.scales);
    map_.summary.distinct = distinct_.size();
    if (all_.scales > 0) {
      map_.summary.mean = mean(all_);
      map_.summary.deviation = deviation(all_);
    }
    return std::move(map_);
  }

 private:
  struct Cell {
    double sum = 0.0;      // of log2, less the pivot: equal scales deviate by exactly 0
    double squares = 0.0;  // of the same
    float pivot = 0.0F;
    std::int64_t scales = 0;
    std::int64_t elements = 0;
    std::uint64_t saturated = 0;
    std::uint64_t underflowed = 0;
  };

  static void add_exponent(float exponent, Cell& cell) {
    if (cell.scales == 0) cell.pivot = exponent;
    const double distance = static_cast<double>(exponent) - static_cast<double>(cell.pivot);
    cell.sum += distance;
    cell.squares += distance * distance;
    ++cell.scales;
  }
  static double mean(const Cell& cell) {
    return static_cast<double>(cell.pivot) + cell.sum / static_cast<double>(cell.scales);
  }
  static double deviation(const Cell& cell) {
    const auto scales = static_cast<double>(cell.scales);
    const double mean = cell.sum / scales;
    return std::sqrt(std::max(0.0, cell.squares / scales - mean * mean));
  }

  ScaleMap map_;
  bool with_losses_;
  std::vector<Cell> cells_;
  Cell all_;
  std::unordered_set<std::uint32_t> distinct_;  // bit patterns
};

ScaleMap map_geometry(const ScaleArrays& arrays) {
  const ScaleGrid grid = scale_grid(arrays.layout, 1, arrays.columns);
  ScaleMap map;
  map.block_rows = grid.block_rows;
  map.block_columns = grid.block_columns;
  map.source_columns = grid.columns;
  map.expert_first_row.push_back(0);
  std::int64_t most = 0;
  for (const std::int64_t rows : arrays.splits) {
    map.source_rows += rows == 0 ? 0 : scale_grid(arrays.layout, rows, arrays.columns).rows;
    map.expert_first_row.push_back(map.source_rows);
    most = std::max(most, rows);
  }
  if (arrays.layout.per_tensor()) map.block_rows = most;
  return map;
}

kernels::BlockLosses losses_at(const OperandCounts& counts, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  if (!counts.losses.empty()) return counts.losses[at];
  if (counts.micro_losses.empty()) return {};
  return {counts.micro_losses[at].saturated, counts.micro_losses[at].underflowed};
}

/// The scale that elements were multiplied by, to be counted.
float scale_of(const OperandLayout& layout, float factor) {
  const float scale = 1.0F / factor;
  if (!layout.fp32_scales() || !std::isfinite(scale) || scale <= 0.0F) return scale;
  // 1 / (1 / scale) may come back one ulp low, which would move a scale on a bin's edge (448 is
  // one) a bin down: two ulp are added before binning. The largest float must not become infinite.
  const auto bits = std::bit_cast<std::uint32_t>(scale);
  return std::bit_cast<float>(std::min(bits + 2, 0x7F7FFFFFU));
}

MagnitudeHistogram histogram_of(const std::vector<float>& values) {
  kernels::MagnitudeCounts counts{};
  kernels::magnitude_counts_cpu(values.data(), std::ssize(values), counts);
  return to_histogram(counts);
}

void fold_scales(const OperandCounts& counts, const ScaleArrays& arrays,
                 OperandStatistics& statistics) {
  const OperandLayout& layout = arrays.layout;
  ScaleFolder folder(map_geometry(arrays), !counts.losses.empty() || !counts.micro_losses.empty());
  std::vector<float> scales;
  std::vector<float> amax;
  const bool scale_amax = layout.fp32_scales() && arrays.amax != nullptr;
  for_each_scale(layout, arrays.splits, arrays.columns, [&](const ScalePlace& place) {
    const float factor = scale_factor(arrays, place);
    folder.add(place, factor, losses_at(counts, place.index));
    scales.push_back(scale_of(layout, factor));
    if (scale_amax) amax.push_back(arrays.amax[place.index]);
  });
  for (std::size_t group = 0; layout.e2m1() && group < arrays.splits.size(); ++group) {
    if (arrays.splits[group] > 0) amax.push_back(arrays.amax[group]);
  }
  statistics.scale_map = folder.take();
  statistics.scale = histogram_of(scales);
  statistics.amax = histogram_of(amax);
}

}  // namespace

float scale_factor(const ScaleArrays& arrays, const ScalePlace& place) {
  using kernels::ScaleKind;
  const bool e2m1 = arrays.layout.e2m1();
  return kernels::factor_at({.scales = arrays.scales,
                             .amax = e2m1 ? arrays.amax[place.group] : 0.0F,
                             .kind = arrays.layout.fp32_scales() ? ScaleKind::Fp32
                                     : e2m1                      ? ScaleKind::E4m3
                                                                 : ScaleKind::E8m0},
                            place.index);
}

OperandCounts zero_counts(const ScaleArrays& arrays) {
  OperandCounts counts;
  counts.sums.resize(arrays.splits.size());
  counts.columns.resize(static_cast<std::size_t>(arrays.columns));
  counts.rows.resize(static_cast<std::size_t>(
      std::accumulate(arrays.splits.begin(), arrays.splits.end(), std::int64_t{0})));
  if (arrays.scales == nullptr) return counts;
  const auto scales =
      static_cast<std::size_t>(scale_count(arrays.layout, arrays.splits, arrays.columns));
  if (arrays.layout.fp32_scales()) {
    counts.losses.resize(scales);
  } else {
    counts.micro_losses.resize(scales);
  }
  return counts;
}

OperandStatistics fold_statistics(const OperandCounts& counts, const ScaleArrays& arrays) {
  OperandStatistics statistics;
  statistics.before = to_histogram(counts.before);
  statistics.after = to_histogram(counts.after);
  for (const std::int64_t rows : arrays.splits) {
    statistics.elements += static_cast<std::uint64_t>(rows * arrays.columns);
  }
  kernels::GroupQuantizationSums all{};
  for (const kernels::GroupQuantizationSums& group : counts.sums) kernels::add_sums(group, all);
  statistics.saturated = all.saturated;
  statistics.underflowed = all.underflowed;
  statistics.lost = all.lost;
  statistics.undefined = all.undefined;
  statistics.snr_db = snr_db(all);
  if (arrays.scales != nullptr) fold_scales(counts, arrays, statistics);
  if (!counts.columns.empty()) {
    statistics.channels = fold_channels(counts.columns, counts.rows, arrays.splits);
  }
  return statistics;
}

MagnitudeHistogram to_histogram(const kernels::MagnitudeCounts& counts) {
  MagnitudeHistogram histogram;
  histogram.zeros = counts.zeros;
  histogram.infinities = counts.infinities;
  histogram.nans = counts.nans;
  const auto filled = [](std::uint64_t count) { return count != 0; };
  const auto* first = std::find_if(std::begin(counts.bins), std::end(counts.bins), filled);
  if (first == std::end(counts.bins)) return histogram;
  const auto* last = std::end(counts.bins);
  while (last[-1] == 0) --last;
  histogram.first_bin = static_cast<int>(first - std::begin(counts.bins));
  histogram.counts.assign(first, last);
  return histogram;
}

double snr_db(double signal, double noise) {
  if (noise == 0.0) return std::numeric_limits<double>::infinity();
  return 10.0 * std::log10(signal / noise);
}

double snr_db(const kernels::GroupQuantizationSums& sums) {
  if (sums.elements == 0) return std::numeric_limits<double>::quiet_NaN();
  return snr_db(sums.signal, sums.noise);
}

std::vector<OperandExpert> operand_experts(const OperandCounts& counts,
                                           std::span<const std::int64_t> splits, bool quantized) {
  std::vector<OperandExpert> experts;
  for (std::size_t expert = 0; expert < std::min(splits.size(), counts.sums.size()); ++expert) {
    const kernels::GroupQuantizationSums& sums = counts.sums[expert];
    OperandExpert& one = experts.emplace_back();
    one.rows = splits[expert];
    if (one.rows == 0) continue;
    one.snr_db = snr_db(sums);
    if (quantized) one.max_ulp = sums.max_ulp;
    one.saturated = sums.saturated;
    one.underflowed = sums.underflowed;
    one.lost = sums.lost;
    one.undefined = sums.undefined;
  }
  return experts;
}

ExpertResult expert_result(std::int64_t rows, const kernels::GroupQuantizationSums& x,
                           bool quantized) {
  ExpertResult expert{.rows = rows, .saturated = x.saturated, .underflowed = x.underflowed};
  expert.x_snr_db = std::numeric_limits<double>::quiet_NaN();
  if (rows == 0) return expert;
  expert.x_snr_db = snr_db(x);
  if (quantized) expert.x_max_ulp = x.max_ulp;
  return expert;
}

ProductAccuracy product_accuracy(const kernels::GroupProductError& error) {
  if (error.elements == 0) return {.lost = error.lost, .undefined = error.undefined};
  return {.snr_db = snr_db(error.reference_squares, error.error_squares),
          .max_abs_error = error.max_abs_error,
          .reference_rms = std::sqrt(error.reference_squares / static_cast<double>(error.elements)),
          .lost = error.lost,
          .undefined = error.undefined};
}

}  // namespace engine
