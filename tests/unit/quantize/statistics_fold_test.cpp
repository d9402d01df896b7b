// Folding of scale arrays: padding never counts, every scale lands in one cell, groups stay
// separate.
#include "engine/quantize/statistics_fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace engine {
namespace {

constexpr OperandLayout kPerTensor = {.kernel = QuantizeKernel::PerTensor};
constexpr OperandLayout kLines = {.kernel = QuantizeKernel::Block, .block = 128};
constexpr OperandLayout kTiles = {.kernel = QuantizeKernel::Block, .block = 128, .square = true};
constexpr float kPoison = 1e30F;  // in every padding float: must never appear

/// ScaleArrays that own their splits.
struct Scales {
  OperandLayout layout = {};
  std::vector<std::int64_t> splits = {};
  std::int64_t columns = 0;
  const float* scales = nullptr;
  const float* amax = nullptr;
};

OperandStatistics fold(const Scales& scales, std::vector<kernels::BlockLosses> losses = {}) {
  return fold_statistics({.losses = std::move(losses)}, {.layout = scales.layout,
                                                         .splits = scales.splits,
                                                         .columns = scales.columns,
                                                         .scales = scales.scales,
                                                         .amax = scales.amax});
}
ScaleMap fold_map(const Scales& scales, std::vector<kernels::BlockLosses> losses = {}) {
  return fold(scales, std::move(losses)).scale_map;
}

std::uint64_t total(const MagnitudeHistogram& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::uint64_t{0});
}

/// Count of the bin that holds `value`.
std::uint64_t count_at(const MagnitudeHistogram& histogram, float value) {
  const int bin = static_cast<int>(std::bit_cast<std::uint32_t>(value) >> 21);
  const int index = bin - histogram.first_bin;
  if (index < 0 || index >= static_cast<int>(histogram.counts.size())) return 0;
  return histogram.counts[static_cast<std::size_t>(index)];
}

TEST(FoldScaleMap, ReadsRowScalesThatAreStoredColumnByColumn) {
  // Groups of 3 and 5 rows (padded to 4 and 8), two blocks along 256 columns.
  Scales source{.layout = kLines, .splits = {3, 0, 5}, .columns = 256};
  ASSERT_EQ(scale_count(source.layout, source.splits, source.columns), 2 * (4 + 8));
  std::vector<float> scales(24, kPoison);
  const auto exponent = [](std::int64_t row, std::int64_t column) {
    return static_cast<int>(row * 2 + column);
  };
  for (int column = 0; column < 2; ++column) {
    for (int row = 0; row < 3; ++row) {
      scales[static_cast<std::size_t>(column * 4 + row)] = std::ldexp(1.0F, exponent(row, column));
    }
    for (int row = 0; row < 5; ++row) {
      scales[static_cast<std::size_t>(8 + column * 8 + row)] =
          std::ldexp(1.0F, exponent(3 + row, column));
    }
  }
  source.scales = scales.data();
  const ScaleMap map = fold_map(source);
  EXPECT_EQ(map.block_rows, 1);
  EXPECT_EQ(map.block_columns, 128);
  EXPECT_EQ(map.source_rows, 8);
  EXPECT_EQ(map.source_columns, 2);
  EXPECT_THAT(map.expert_first_row, testing::ElementsAre(0, 3, 3, 8));
  ASSERT_EQ(map.rows, 8);
  ASSERT_EQ(map.columns, 2);
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 2; ++column) {
      const auto cell = static_cast<std::size_t>(row * 2 + column);
      EXPECT_EQ(map.mean[cell], static_cast<float>(exponent(row, column))) << row << ' ' << column;
      EXPECT_EQ(map.maximum[cell], map.mean[cell]);
    }
  }
}

TEST(FoldScaleMap, ReadsTileScalesRowByRow) {
  // 300 rows = 3 tiles, 5 tiles along 600 columns (padded to 8); then a group of one tile row.
  Scales source{.layout = kTiles, .splits = {300, 1}, .columns = 600};
  ASSERT_EQ(scale_count(source.layout, source.splits, source.columns), 4 * 8);
  std::vector<float> scales(32, kPoison);
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 5; ++column) {
      scales[static_cast<std::size_t>(row * 8 + column)] = std::ldexp(1.0F, row * 5 + column);
    }
  }
  source.scales = scales.data();
  const ScaleMap map = fold_map(source);
  EXPECT_THAT(map.expert_first_row, testing::ElementsAre(0, 3, 4));
  ASSERT_EQ(map.mean.size(), 20U);
  for (std::size_t cell = 0; cell < 20; ++cell) EXPECT_EQ(map.mean[cell], static_cast<float>(cell));
}

TEST(FoldScaleMap, FoldsToTheCellLimitWithMeanAndMaximum) {
  Scales source{.layout = kLines, .splits = {4 * kScaleMapCells}, .columns = 128};
  std::vector<float> scales(static_cast<std::size_t>(4 * kScaleMapCells));
  for (std::size_t row = 0; row < scales.size(); ++row) {
    scales[row] = std::ldexp(1.0F, static_cast<int>(row % 4));
  }
  source.scales = scales.data();
  const ScaleMap map = fold_map(source);
  EXPECT_EQ(map.source_rows, 4 * kScaleMapCells);
  EXPECT_EQ(map.rows, kScaleMapCells);
  EXPECT_THAT(map.mean, testing::Each(1.5F));
  EXPECT_THAT(map.maximum, testing::Each(3.0F));
}

TEST(FoldScaleMap, CellsReportTheSpreadOfTheirScalesAndTheSummaryTheirNumber) {
  Scales source{.layout = kLines, .splits = {4 * kScaleMapCells}, .columns = 128};
  std::vector<float> scales(static_cast<std::size_t>(4 * kScaleMapCells));
  for (std::size_t row = 0; row < scales.size(); ++row) {
    scales[row] = std::ldexp(1.0F, static_cast<int>(row % 4));
  }
  source.scales = scales.data();
  const ScaleMap map = fold_map(source);
  EXPECT_THAT(map.minimum, testing::Each(0.0F));
  EXPECT_THAT(map.deviation, testing::Each(testing::FloatEq(std::sqrt(1.25F))));
  EXPECT_TRUE(map.saturated_share.empty()) << "losses were not counted";
  EXPECT_EQ(map.summary.scales, scales.size());
  EXPECT_EQ(map.summary.distinct, 4U);
  EXPECT_DOUBLE_EQ(map.summary.mean, 1.5);
  EXPECT_DOUBLE_EQ(map.summary.deviation, std::sqrt(1.25));
}

TEST(FoldScaleMap, EqualScalesHaveZeroDeviation) {
  const std::vector<float> scales(400, 0.1F);
  const ScaleMap map =
      fold_map({.layout = kLines, .splits = {400}, .columns = 128, .scales = scales.data()});
  EXPECT_EQ(map.summary.deviation, 0.0);
  EXPECT_EQ(map.summary.distinct, 1U);
  EXPECT_THAT(map.deviation, testing::Each(0.0F));
}

TEST(FoldScaleMap, LossesAreSharesOfTheElementsInACell) {
  // 130 rows and 200 columns: the second tile row holds 2 rows, the second column 72.
  const std::vector<float> scales = {1, 1, kPoison, kPoison, 1, 1, kPoison, kPoison};
  std::vector<kernels::BlockLosses> losses(8, {1000, 1000});
  losses[0] = {.saturated = 128, .underflowed = 0};
  losses[1] = {.saturated = 0, .underflowed = 0};
  losses[4] = {.saturated = 0, .underflowed = 64};
  losses[5] = {.saturated = 144, .underflowed = 0};
  const ScaleMap map = fold_map(
      {.layout = kTiles, .splits = {130}, .columns = 200, .scales = scales.data()}, losses);
  EXPECT_THAT(map.saturated_share, testing::ElementsAre(1.0F / 128, 0.0F, 0.0F, 1.0F));
  EXPECT_THAT(map.underflowed_share, testing::ElementsAre(0.0F, 0.0F, 0.25F, 0.0F));
  EXPECT_EQ(map.summary.saturated, 2U);
  EXPECT_EQ(map.summary.underflowed, 1U);
}

TEST(FoldScaleMap, LeavesOutEmptyGroupsOfPerTensorScales) {
  const std::vector<float> scales = {2.0F, 1.0F, 8.0F};
  const ScaleMap map = fold_map(
      {.layout = kPerTensor, .splits = {10, 0, 30}, .columns = 64, .scales = scales.data()});
  EXPECT_THAT(map.mean, testing::ElementsAre(1.0F, 3.0F));
  EXPECT_THAT(map.expert_first_row, testing::ElementsAre(0, 1, 1, 2));
  EXPECT_EQ(map.block_rows, 30);
  EXPECT_EQ(map.block_columns, 64);
}

TEST(FoldScaleMap, WithoutRowsThereAreNoCells) {
  const float none = kPoison;
  const ScaleMap map =
      fold_map({.layout = kLines, .splits = {0, 0}, .columns = 256, .scales = &none});
  EXPECT_EQ(map.rows, 0);
  EXPECT_TRUE(map.mean.empty());
  EXPECT_THAT(map.expert_first_row, testing::ElementsAre(0, 0, 0));
}

TEST(FoldScaleMap, ACellWithoutAFiniteScaleIsNaN) {
  const float scale = std::numeric_limits<float>::infinity();
  const ScaleMap map =
      fold_map({.layout = kPerTensor, .splits = {4}, .columns = 16, .scales = &scale});
  EXPECT_TRUE(std::isnan(map.mean.at(0)));
  EXPECT_TRUE(std::isnan(map.maximum.at(0)));
}

TEST(Histograms, TrimEmptyEndsAndKeepEmptyBinsInside) {
  kernels::MagnitudeCounts counts{};
  counts.bins[500] = 3;
  counts.bins[503] = 4;
  counts.zeros = 5;
  counts.infinities = 6;
  counts.nans = 7;
  const MagnitudeHistogram histogram = to_histogram(counts);
  EXPECT_EQ(histogram.first_bin, 500);
  EXPECT_THAT(histogram.counts, testing::ElementsAre(3, 0, 0, 4));
  EXPECT_EQ(histogram.zeros, 5U);
  EXPECT_EQ(histogram.infinities, 6U);
  EXPECT_EQ(histogram.nans, 7U);
  EXPECT_TRUE(to_histogram(kernels::MagnitudeCounts{}).counts.empty());
}

TEST(Histograms, CountEveryScaleOnceAndNoPadding) {
  Scales source{.layout = kLines, .splits = {3}, .columns = 128};
  const std::vector<float> scale_inv = {1.0F / 448.0F, 1.0F / 256.0F, 1.0F / 3.0F, kPoison};
  source.scales = scale_inv.data();
  const MagnitudeHistogram scales = fold(source).scale;
  EXPECT_EQ(total(scales), 3U);
  // 448 lies on a bin's edge and its reciprocal is not exact.
  EXPECT_EQ(count_at(scales, 448.0F), 1U);
  EXPECT_EQ(count_at(scales, 256.0F), 1U);
  EXPECT_EQ(count_at(scales, 3.0F), 1U);

  const std::vector<float> amax = {0.0F, 6.0F, 6.9F, kPoison};
  source.amax = amax.data();
  const MagnitudeHistogram counted = fold(source).amax;
  EXPECT_EQ(counted.zeros, 1U);
  EXPECT_EQ(count_at(counted, 6.0F), 2U);
  EXPECT_EQ(total(counted), 2U);
}

TEST(Accuracy, TotalsAndRatios) {
  const std::vector<kernels::GroupQuantizationSums> sums = {{.signal = 90.0,
                                                             .noise = 0.5,
                                                             .saturated = 1,
                                                             .underflowed = 2,
                                                             .elements = 8,
                                                             .lost = 5,
                                                             .undefined = 1},
                                                            {.signal = 10.0,
                                                             .noise = 0.5,
                                                             .saturated = 3,
                                                             .underflowed = 4,
                                                             .elements = 1,
                                                             .lost = 2,
                                                             .undefined = 0}};
  const OperandStatistics totals = fold_statistics({.sums = sums}, {});
  EXPECT_DOUBLE_EQ(totals.snr_db, 20.0);
  EXPECT_EQ(totals.saturated, 4U);
  EXPECT_EQ(totals.underflowed, 6U);
  EXPECT_EQ(totals.lost, 7U);
  EXPECT_EQ(totals.left_out(), 8U);
  EXPECT_EQ(snr_db(1.0, 0.0), std::numeric_limits<double>::infinity());

  const ProductAccuracy accuracy = product_accuracy({.reference_squares = 400.0,
                                                     .error_squares = 4.0,
                                                     .max_abs_error = 1.5,
                                                     .elements = 100,
                                                     .lost = 3,
                                                     .undefined = 2});
  EXPECT_EQ(accuracy.lost, 3U);
  EXPECT_EQ(accuracy.left_out(), 5U);
  EXPECT_DOUBLE_EQ(accuracy.snr_db, 20.0);
  EXPECT_DOUBLE_EQ(accuracy.reference_rms, 2.0);
  EXPECT_EQ(accuracy.max_abs_error, 1.5);
  EXPECT_TRUE(std::isnan(product_accuracy({}).snr_db));
}

/// "Exact" is a claim about elements: without any there is none.
TEST(Accuracy, WhereEverythingIsLostThereIsNoSnr) {
  std::vector<kernels::GroupQuantizationSums> sums(1);
  sums[0].lost = 1023;
  sums[0].undefined = 1;
  const OperandStatistics totals = fold_statistics({.sums = sums}, {});
  EXPECT_TRUE(std::isnan(totals.snr_db));
  EXPECT_EQ(totals.left_out(), 1024U);
  const std::vector<std::int64_t> splits = {8, 0};
  const std::vector<OperandExpert> experts =
      operand_experts({.sums = {sums[0], {}}}, splits, /*quantized=*/true);
  ASSERT_EQ(experts.size(), 2U);
  EXPECT_EQ(experts[0].rows, 8);
  EXPECT_EQ(experts[0].lost, 1023U);
  EXPECT_TRUE(std::isnan(experts[0].snr_db));
  EXPECT_TRUE(std::isnan(experts[1].snr_db)) << "no rows";
}

}  // namespace
}  // namespace engine
