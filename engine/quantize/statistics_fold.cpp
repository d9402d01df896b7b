// Walks the scales of an operand in one place, so that no statistic can disagree with another about
// where a scale lies or which floats are padding.
#include "engine/quantize/statistics_fold.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace engine {
namespace {

/// The scales of one group. One per tensor has a place in the array even where a group has no rows.
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
    // Along the smaller stride inside: 1x128 scales are stored column by column.
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
  if (error.elements == 0) {
    return {.snr_db = std::numeric_limits<double>::quiet_NaN()};
  }
  return {
      .snr_db = snr_db(error.reference_squares, error.error_squares),
      .max_abs_error = error.max_abs_error,
      .reference_rms = std::sqrt(error.reference_squares / static_cast<double>(error.elements))};
}

}  // namespace engine
