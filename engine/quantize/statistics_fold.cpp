// The only walk over an operand's scales, so that all statistics agree on where scales are and
// which floats are padding.
#include "engine/quantize/statistics_fold.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/dequantize/decode_rule.h"

namespace engine {

namespace {

/// The scales of one group. A per-tensor scale has a place in the array even for groups without
/// rows.
ScaleGrid group_scales(const ScaleMapSource& source, std::int64_t data_rows) {
  ScaleGrid grid = scale_grid(source.layout, data_rows, source.columns);
  if (data_rows == 0) grid.rows = 0;
  return grid;
}

/// A scale that is not padding.
struct ScalePlace {
  std::int64_t index = 0;  // in the array
  std::int64_t row = 0;    // among all scales
  std::int64_t column = 0;
  std::int64_t group_rows = 0;  // data rows of its group
  std::int64_t group_row = 0;   // among the scales of its group
};

/// Calls visit(ScalePlace) for every scale.
template <class Visit>
void for_each_scale(const ScaleMapSource& source, const Visit& visit) {
  std::int64_t first_row = 0;
  std::int64_t first = 0;
  for (const std::int64_t data_rows : source.splits) {
    const ScaleGrid group = group_scales(source, data_rows);
    const auto one = [&](std::int64_t row, std::int64_t column) {
      visit(ScalePlace{.index = first + row * group.row_stride + column * group.column_stride,
                       .row = first_row + row,
                       .column = column,
                       .group_rows = data_rows,
                       .group_row = row});
    };
    // The inner loop has the smaller stride: 1x128 scales are stored column by column.
    if (group.row_stride < group.column_stride) {
      for (std::int64_t column = 0; column < group.columns; ++column) {
        for (std::int64_t row = 0; row < group.rows; ++row) one(row, column);
      }
    } else {
      for (std::int64_t row = 0; row < group.rows; ++row) {
        for (std::int64_t column = 0; column < group.columns; ++column) one(row, column);
      }
    }
    first += group.span;
    first_row += group.rows;
  }
}

void count_magnitude(std::uint32_t bits, kernels::MagnitudeCounts& counts) {
  constexpr std::uint32_t kInfinity = 0x7F800000U;
  bits &= 0x7FFFFFFFU;
  if (bits == 0) {
    ++counts.zeros;
  } else if (bits < kInfinity) {
    ++counts.bins[bits >> 21];
  } else {
    ++(bits == kInfinity ? counts.infinities : counts.nans);
  }
}

}  // namespace

std::int64_t scale_count(const ScaleMapSource& source) {
  std::int64_t floats = 0;
  for (const std::int64_t rows : source.splits) {
    floats += group_scales(source, rows).span;
  }
  return floats;
}

ScaleMap fold_scale_map(const ScaleMapSource& source) {
  ScaleMap map;
  const bool per_tensor = source.layout.per_tensor();
  const ScaleGrid grid = scale_grid(source.layout, 1, source.columns);
  map.block_rows = grid.block_rows;
  if (per_tensor) {
    map.block_rows =
        source.splits.empty() ? 0 : *std::max_element(source.splits.begin(), source.splits.end());
  }
  map.block_columns = grid.block_columns;
  map.source_columns = grid.columns;
  map.expert_first_row.push_back(0);
  for (const std::int64_t rows : source.splits) {
    map.source_rows += group_scales(source, rows).rows;
    map.expert_first_row.push_back(map.source_rows);
  }
  const std::int64_t block_rows = map.block_rows;
  ScaleFolder folder(std::move(map), source.losses != nullptr);
  for_each_scale(source, [&](const ScalePlace& place) {
    FoldedScale scale{
        .scale_inv = source.scale_inv[place.index], .row = place.row, .column = place.column};
    const std::int64_t rows =
        per_tensor ? place.group_rows
                   : std::min(block_rows, place.group_rows - place.group_row * block_rows);
    const std::int64_t columns =
        std::min(grid.block_columns, source.columns - place.column * grid.block_columns);
    scale.elements = rows * columns;
    if (source.losses != nullptr) scale.losses = source.losses[place.index];
    folder.add(scale);
  });
  return folder.take();
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

MagnitudeHistogram scale_histogram(const ScaleMapSource& source) {
  // 1 / (1 / scale) may come back one ulp low, which would move a scale on a bin's edge (448 is
  // one) a bin down: two ulp are added before binning.
  constexpr std::uint32_t kReciprocalSlack = 2;
  kernels::MagnitudeCounts counts{};
  for_each_scale(source, [&](const ScalePlace& place) {
    const float scale = 1.0F / source.scale_inv[place.index];
    const std::uint32_t slack = std::isfinite(scale) && scale > 0.0F ? kReciprocalSlack : 0;
    // A scale of FLT_MAX must not spill into infinity.
    count_magnitude(std::min(std::bit_cast<std::uint32_t>(scale) + slack,
                             std::max(std::bit_cast<std::uint32_t>(scale), 0x7F7FFFFFU)),
                    counts);
  });
  return to_histogram(counts);
}

MagnitudeHistogram amax_histogram(const ScaleMapSource& source, const float* amax) {
  kernels::MagnitudeCounts counts{};
  for_each_scale(source, [&](const ScalePlace& place) {
    count_magnitude(std::bit_cast<std::uint32_t>(amax[place.index]), counts);
  });
  return to_histogram(counts);
}

double snr_db(double signal, double noise) {
  if (noise == 0.0) return std::numeric_limits<double>::infinity();
  return 10.0 * std::log10(signal / noise);
}

QuantizationTotals total_quantization(std::span<const kernels::GroupQuantizationSums> sums) {
  QuantizationTotals totals;
  double signal = 0.0;
  double noise = 0.0;
  for (const kernels::GroupQuantizationSums& group : sums) {
    signal += group.signal;
    noise += group.noise;
    totals.saturated += group.saturated;
    totals.underflowed += group.underflowed;
  }
  totals.snr_db = snr_db(signal, noise);
  return totals;
}

ProductAccuracy product_accuracy(const kernels::GroupProductError& error) {
  if (error.elements == 0) return {.lost = error.lost};
  return {.snr_db = snr_db(error.reference_squares, error.error_squares),
          .max_abs_error = error.max_abs_error,
          .reference_rms = std::sqrt(error.reference_squares / static_cast<double>(error.elements)),
          .lost = error.lost};
}

ScaleFolder::ScaleFolder(ScaleMap geometry, bool with_losses)
    : map_(std::move(geometry)), with_losses_(with_losses) {
  map_.rows = static_cast<int>(std::min<std::int64_t>(map_.source_rows, kScaleMapCells));
  map_.columns = static_cast<int>(std::min<std::int64_t>(map_.source_columns, kScaleMapCells));
  const auto cells = static_cast<std::size_t>(map_.rows) * static_cast<std::size_t>(map_.columns);
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  cells_.resize(cells);
  map_.maximum.assign(cells, kNone);
  map_.minimum.assign(cells, kNone);
}

void ScaleFolder::add_exponent(float exponent, Cell& cell) {
  if (cell.scales == 0) cell.pivot = exponent;
  const double distance = static_cast<double>(exponent) - static_cast<double>(cell.pivot);
  cell.sum += distance;
  cell.squares += distance * distance;
  ++cell.scales;
}

double ScaleFolder::mean(const Cell& cell) {
  return static_cast<double>(cell.pivot) + cell.sum / static_cast<double>(cell.scales);
}

double ScaleFolder::deviation(const Cell& cell) {
  const auto scales = static_cast<double>(cell.scales);
  const double mean = cell.sum / scales;
  return std::sqrt(std::max(0.0, cell.squares / scales - mean * mean));
}

void ScaleFolder::add(const FoldedScale& scale) {
  const auto index =
      static_cast<std::size_t>(scale.row * map_.rows / map_.source_rows * map_.columns +
                               scale.column * map_.columns / map_.source_columns);
  Cell& cell = cells_[index];
  cell.elements += scale.elements;
  cell.saturated += scale.losses.saturated;
  cell.underflowed += scale.losses.underflowed;
  map_.summary.saturated += scale.losses.saturated > 0 ? 1 : 0;
  map_.summary.underflowed += scale.losses.underflowed > 0 ? 1 : 0;
  if (!std::isfinite(scale.scale_inv) || scale.scale_inv <= 0.0F) return;
  const float exponent = std::log2(scale.scale_inv);
  // Comparisons with NaN, the initial value of a cell, are false.
  map_.maximum[index] = std::fmax(map_.maximum[index], exponent);
  map_.minimum[index] = std::fmin(map_.minimum[index], exponent);
  add_exponent(exponent, cell);
  add_exponent(exponent, all_);
  distinct_.insert(std::bit_cast<std::uint32_t>(scale.scale_inv));
}

ScaleMap ScaleFolder::take() {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
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

namespace {

ScaleMap geometry(const OperandLayout& layout, std::span<const std::int64_t> splits,
                  std::int64_t columns) {
  ScaleMap map;
  map.expert_first_row = {0};
  for (const std::int64_t rows : splits) {
    const ScaleGrid grid = scale_grid(layout, rows, columns);
    map.block_rows = grid.block_rows;
    map.block_columns = grid.block_columns;
    map.source_columns = grid.columns;
    map.source_rows += rows == 0 ? 0 : grid.rows;
    map.expert_first_row.push_back(map.source_rows);
  }
  return map;
}

}  // namespace

MicroScaleFold fold_micro_scales(const OperandLayout& layout, std::span<const std::int64_t> splits,
                                 std::int64_t columns, std::span<const std::uint8_t> scales,
                                 std::span<const kernels::MicroLosses> losses, const float* amax) {
  const ScaleMap map = geometry(layout, splits, columns);
  ScaleFolder folder(map, true);
  kernels::MagnitudeCounts counts{};
  std::vector<float> line;  // 1 / factor
  std::int64_t first = 0;   // of the group's bytes
  for (std::size_t group = 0; group < splits.size(); ++group) {
    const ScaleGrid grid = scale_grid(layout, splits[group], columns);
    const kernels::GroupView view{
        .scales = scales.data() + first,
        .amax = layout.e2m1() ? amax[group] : 0.0F,
        .kind = layout.e2m1() ? kernels::ScaleKind::E4m3 : kernels::ScaleKind::E8m0};
    for (std::int64_t r = 0; splits[group] > 0 && r < grid.rows; ++r) {
      line.clear();
      for (std::int64_t c = 0; c < grid.columns; ++c) {
        const std::int64_t index = r * grid.row_stride + c * grid.column_stride;
        const float factor = kernels::factor_at(view, index);
        const kernels::MicroLosses& lost = losses[static_cast<std::size_t>(first + index)];
        folder.add({.scale_inv = factor,
                    .row = map.expert_first_row[group] + r,
                    .column = c,
                    .elements = std::min(grid.block_rows, splits[group] - r * grid.block_rows) *
                                std::min(grid.block_columns, columns - c * grid.block_columns),
                    .losses = {lost.saturated, lost.underflowed}});
        line.push_back(1.0F / factor);
      }
      kernels::magnitude_counts_cpu(line.data(), std::ssize(line), counts);
    }
    first += grid.span;
  }
  return {.map = folder.take(), .scale = to_histogram(counts)};
}

}  // namespace engine
