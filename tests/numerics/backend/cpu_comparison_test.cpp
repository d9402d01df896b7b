// Comparisons on the CPU: their numerics match those of a run with the same recipe, computed by
// different code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/quantize/block_error.h"

namespace engine {
namespace {

class CpuComparison : public testing::Test {
 protected:
  Result<RecipeComparison> compare(const ComparisonRequest& request) {
    return backend_->compare(request, {.progress = progress_, .observer = observer_});
  }
  Result<RunResult> run(const RunRequest& request) {
    return backend_->run(request, {.progress = progress_, .observer = observer_});
  }

  static ComparisonRequest small() {
    ComparisonRequest request;
    request.request.shape = {.preset = "", .num_experts = 3, .rows = 300, .n = 144, .k = 272};
    request.request.routing.distribution = RoutingDistribution::Zipf;
    request.request.launch.iterations = 1;
    request.timed_launches = 2;
    return request;
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  RunProgress progress_;
  StepObserver observer_;
};

void expect_same(const MagnitudeHistogram& a, const MagnitudeHistogram& b, const char* which) {
  EXPECT_EQ(a.first_bin, b.first_bin) << which;
  EXPECT_EQ(a.counts, b.counts) << which;
  EXPECT_EQ(a.zeros, b.zeros) << which;
  EXPECT_EQ(a.infinities, b.infinities) << which;
  EXPECT_EQ(a.nans, b.nans) << which;
}

void expect_same(const OperandStatistics& a, const OperandStatistics& b) {
  expect_same(a.before, b.before, "before");
  expect_same(a.after, b.after, "after");
  expect_same(a.amax, b.amax, "amax");
  expect_same(a.scale, b.scale, "scale");
  EXPECT_EQ(a.elements, b.elements);
  EXPECT_EQ(a.saturated, b.saturated);
  EXPECT_EQ(a.underflowed, b.underflowed);
  EXPECT_NEAR(a.snr_db, b.snr_db, 1e-9);
  EXPECT_EQ(a.scale_map.rows, b.scale_map.rows);
  EXPECT_EQ(a.scale_map.columns, b.scale_map.columns);
  EXPECT_EQ(a.scale_map.block_rows, b.scale_map.block_rows);
  EXPECT_EQ(a.scale_map.block_columns, b.scale_map.block_columns);
  EXPECT_EQ(a.scale_map.expert_first_row, b.scale_map.expert_first_row);
  ASSERT_EQ(a.scale_map.mean.size(), b.scale_map.mean.size());
  for (std::size_t i = 0; i < a.scale_map.mean.size(); ++i) {
    EXPECT_NEAR(a.scale_map.mean[i], b.scale_map.mean[i], 1e-5);
    EXPECT_NEAR(a.scale_map.minimum[i], b.scale_map.minimum[i], 1e-5);
    EXPECT_NEAR(a.scale_map.deviation[i], b.scale_map.deviation[i], 1e-5);
  }
  // The kernel's twin and the comparison's own loops have counted these.
  EXPECT_EQ(a.scale_map.saturated_share, b.scale_map.saturated_share);
  EXPECT_EQ(a.scale_map.underflowed_share, b.scale_map.underflowed_share);
  EXPECT_EQ(a.scale_map.saturated_share.size(), a.scale_map.mean.size());
  EXPECT_EQ(a.scale_map.summary.scales, b.scale_map.summary.scales);
  EXPECT_EQ(a.scale_map.summary.distinct, b.scale_map.summary.distinct);
  EXPECT_EQ(a.scale_map.summary.saturated, b.scale_map.summary.saturated);
  EXPECT_EQ(a.scale_map.summary.underflowed, b.scale_map.summary.underflowed);
  EXPECT_NEAR(a.scale_map.summary.mean, b.scale_map.summary.mean, 1e-5);
  EXPECT_NEAR(a.scale_map.summary.deviation, b.scale_map.summary.deviation, 1e-5);
}

TEST_F(CpuComparison, AgreesWithTheStatisticsOfARun) {
  for (const Distribution distribution : {Distribution::HeavyTailed, Distribution::NonFinite}) {
    for (const ElementType element : {ElementType::Bf16, ElementType::Fp16, ElementType::Fp32}) {
      for (const Scaling scaling : {Scaling::PerTensorCurrent, Scaling::Block}) {
        for (const bool weights : {false, true}) {
          ComparisonRequest request = small();
          request.weights = weights;
          request.request.activations = SyntheticInput{distribution, element};
          request.request.weights = SyntheticInput{distribution, element};
          request.request.recipe.scaling = scaling;
          request.request.recipe.activation_format = Fp8Format::E5m2;
          request.recipes = {request.request.recipe};
          const auto comparison = compare(request);
          ASSERT_TRUE(comparison.ok()) << comparison.error().message;
          const auto result = run(request.request);
          ASSERT_TRUE(result.ok()) << result.error().message;
          const QuantizationReport& report = comparison.value().reports.front();
          ASSERT_EQ(report.refused, "");
          expect_same(report.statistics,
                      *statistics_of(result.value(), weights ? StepTensor::WUp : StepTensor::X));
        }
      }
    }
  }
}

TEST_F(CpuComparison, GradientsAgreeWithARunToo) {
  ComparisonRequest request = small();
  request.gradients = true;
  request.request.products.passes = StepPasses::ForwardBackward;
  request.request.products.gradients = SyntheticInput{Distribution::HeavyTailed, ElementType::Bf16};
  for (const Scaling scaling : {Scaling::Block, Scaling::Mxfp8}) {
    request.request.recipe = {.scaling = scaling, .gradient_format = Fp8Format::E5m2};
    request.recipes = {request.request.recipe};
    const auto comparison = compare(request);
    ASSERT_TRUE(comparison.ok()) << comparison.error().message;
    const auto result = run(request.request);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(comparison.value().reports.front().statistics.elements, 300U * 144U);
    expect_same(comparison.value().reports.front().statistics,
                *statistics_of(result.value(), StepTensor::DY));
  }
  request.weights = true;
  EXPECT_FALSE(validate(request).ok());
}

TEST_F(CpuComparison, PowerOfTwoScalesWasteLessThanABinadeAndOthersNothing) {
  ComparisonRequest request = small();
  request.timed_launches = 0;
  request.request.activations = SyntheticInput{Distribution::HeavyTailed, ElementType::Bf16};
  request.recipes = {{.scaling = Scaling::Block, .pow2_scales = false},
                     {.scaling = Scaling::Block, .pow2_scales = true},
                     {.scaling = Scaling::PerTensorCurrent, .pow2_scales = true},
                     {.scaling = Scaling::Mxfp8},
                     {.scaling = Scaling::Nvfp4}};
  const auto comparison = compare(request);
  ASSERT_TRUE(comparison.ok()) << comparison.error().message;
  for (const QuantizationReport& report : comparison.value().reports) {
    ASSERT_EQ(report.refused, "");
    ASSERT_EQ(report.experts.size(), 3U);
    std::uint64_t scales = 0;
    std::uint64_t saturated = 0;
    for (std::size_t expert = 0; expert < report.experts.size(); ++expert) {
      const ExpertQuantization& row = report.experts[expert];
      EXPECT_EQ(row.rows, comparison.value().splits[expert]);
      EXPECT_LE(row.waste.mean, row.waste.max);
      EXPECT_LE(row.waste.max, report.waste.max);
      scales += row.waste.scales;
      saturated += row.saturated;
    }
    EXPECT_EQ(scales, report.waste.scales);
    EXPECT_EQ(saturated, report.statistics.saturated);
    if (report.recipe.scaling == Scaling::Nvfp4) {
      EXPECT_EQ(scales, 0U);
      continue;
    }
    EXPECT_EQ(scales, report.statistics.scale_map.summary.scales);
    if (report.recipe.scaling == Scaling::Block && !report.recipe.pow2_scales) {
      EXPECT_NEAR(report.waste.mean, 0.0, 1e-6);
      EXPECT_NEAR(report.waste.max, 0.0, 1e-6);
    } else {
      EXPECT_GT(report.waste.mean, 0.0);
      EXPECT_LT(report.waste.max, 1.0);
    }
  }
}

TEST_F(CpuComparison, HasTwoReportsPerRecipeAndTimesInterleavedWithCopies) {
  const auto comparison = compare(small());
  ASSERT_TRUE(comparison.ok()) << comparison.error().message;
  const RecipeComparison& result = comparison.value();
  EXPECT_EQ(result.request.recipes, default_comparison());
  ASSERT_EQ(result.reports.size(), 2 * result.request.recipes.size());
  std::size_t ran = 0;
  for (std::size_t i = 0; i < result.reports.size(); ++i) {
    const QuantizationReport& report = result.reports[i];
    EXPECT_EQ(report.recipe, result.request.recipes[i / 2]);
    EXPECT_EQ(report.columnwise, i % 2 == 1);
    if (!report.refused.empty()) continue;
    ++ran;
    EXPECT_EQ(report.times_ns.size(), 2U);
    EXPECT_EQ(report.statistics.elements, 300U * 272U);
    std::uint64_t codes = 0;
    for (const std::uint64_t count : report.code_counts) codes += count;
    EXPECT_EQ(codes, report.statistics.elements);
    EXPECT_GT(report.moved_bytes, 3 * 300 * 272 - 1);
    EXPECT_GT(report.statistics.snr_db, 10.0);
    // Undoing the transform spreads a block's error over its small elements.
    const bool transformed = report.recipe.scaling == Scaling::Nvfp4 && report.columnwise;
    if (!transformed) {
      EXPECT_LT(report.max_relative_error, 0.6);
    }
    const bool stochastic = report.recipe.stochastic_rounding;
    EXPECT_LE(report.max_ulp, stochastic ? 1 : 0) << "of " << i;
  }
  EXPECT_EQ(ran, result.reports.size());
  EXPECT_EQ(result.copy_times_ns.size(), 2 * ran);
  EXPECT_EQ(result.copy_bytes, 2 * 300 * 272 * 2);
  EXPECT_EQ(progress_.fraction.load(), 1.0);
}

double median_db(const kernels::GroupedInput& input, const float* decoded) {
  BlockErrors blocks;
  blocks.add({.input = input, .decoded = decoded});
  return blocks.median_db();
}

TEST(MedianBlockSnr, IsTheMedianOfTheBlocksOwnRatios) {
  constexpr std::int64_t kRows = 700;
  constexpr std::int64_t kColumns = 48;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> x(kRows * kColumns);
  std::vector<float> decoded;
  for (float& value : x) value = normal(random);
  // From 0 to 80 dB, and some that come back exactly.
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float error = std::pow(10.0F, -static_cast<float>(i / 480) / 18.0F);
    decoded.push_back(i % 960 < 96 ? x[i] : x[i] + error * normal(random));
  }
  const std::int64_t offsets[] = {0, kRows};
  const kernels::GroupedInput input{.input = x.data(),
                                    .type = kernels::InputType::Fp32,
                                    .row_offsets = offsets,
                                    .num_groups = 1,
                                    .capacity_rows = kRows,
                                    .columns = kColumns};
  std::vector<double> ratios;
  for (std::size_t begin = 0; begin < x.size(); begin += kernels::kErrorBlock) {
    double signal = 0.0;
    double noise = 0.0;
    for (std::size_t i = begin; i < begin + kernels::kErrorBlock; ++i) {
      signal += std::pow(static_cast<double>(x[i]), 2.0);
      noise += std::pow(static_cast<double>(x[i]) - static_cast<double>(decoded[i]), 2.0);
    }
    ratios.push_back(10.0 * std::log10(signal / noise));
  }
  std::ranges::sort(ratios);
  const double expected = (ratios[ratios.size() / 2 - 1] + ratios[ratios.size() / 2]) / 2.0;
  EXPECT_NEAR(median_db(input, decoded.data()), expected, kBlockErrorStepDb);
}

TEST(MedianBlockSnr, LeavesOutBlocksOfZerosAndTakesShortOnes) {
  constexpr std::int64_t kColumns = 20;  // a block of 16 and one of 4
  std::vector<float> x(3 * kColumns, 1.0F);
  std::vector<float> decoded = x;
  const std::int64_t offsets[] = {0, 3};
  const kernels::GroupedInput input{.input = x.data(),
                                    .type = kernels::InputType::Fp32,
                                    .row_offsets = offsets,
                                    .num_groups = 1,
                                    .capacity_rows = 3,
                                    .columns = kColumns};
  EXPECT_EQ(median_db(input, decoded.data()), std::numeric_limits<double>::infinity());
  // Of six blocks, an error of 10 % in four and of 1 % in two.
  for (std::size_t i = 0; i < decoded.size(); ++i) decoded[i] = i < 2 * kColumns ? 1.1F : 1.01F;
  EXPECT_NEAR(median_db(input, decoded.data()), 20.0, kBlockErrorStepDb);
  // Zeros have no error relative to themselves: of four blocks, two of each error are left.
  std::fill_n(x.begin(), kColumns, 0.0F);
  std::fill_n(decoded.begin(), kColumns, 0.0F);
  EXPECT_NEAR(median_db(input, decoded.data()), 30.0, kBlockErrorStepDb);
  std::ranges::fill(x, 0.0F);
  EXPECT_TRUE(std::isnan(median_db(input, decoded.data())));
}

TEST_F(CpuComparison, TakesAFullSampleAtAnyCorner) {
  ComparisonRequest request = small();
  request.sample_row = 1 << 20;
  request.sample_column = 250;
  request.timed_launches = 0;
  request.recipes = {{.scaling = Scaling::Block}};
  const auto comparison = compare(request);
  ASSERT_TRUE(comparison.ok());
  const QuantizationSample& sample = comparison.value().reports.front().sample;
  EXPECT_EQ(sample.row, 300 - 32);
  EXPECT_EQ(sample.column, 272 - 32);
  ASSERT_EQ(sample.decoded.size(), 32U * 32U);
  for (std::size_t i = 0; i < sample.decoded.size(); ++i) {
    EXPECT_NEAR(sample.decoded[i], sample.original[i], std::abs(sample.original[i]) / 16 + 1e-6);
  }
}

TEST_F(CpuComparison, EndsWhenCancelledAndTakesEmptyOperands) {
  progress_.cancel = true;
  const auto cancelled = compare(small());
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, ErrorCode::Cancelled);
  progress_.cancel = false;
  ComparisonRequest empty = small();
  empty.request.shape.rows = 0;
  const auto comparison = compare(empty);
  ASSERT_TRUE(comparison.ok()) << comparison.error().message;
  for (const QuantizationReport& report : comparison.value().reports) {
    EXPECT_FALSE(report.refused.empty());
  }
}

TEST_F(CpuComparison, ASampleOfARegionHoldsItsLargestElement) {
  ComparisonRequest request = small();
  request.recipes = {{.scaling = Scaling::Block}};
  request.timed_launches = 0;
  // All of the operand, as the host reads it, from samples that cover it.
  double largest = -1.0;
  std::int64_t at_row = 0;
  std::int64_t at_column = 0;
  for (std::int64_t row = 40; row < 200; row += kMaxSampleSide) {
    for (std::int64_t column = 64; column < 224; column += kMaxSampleSide) {
      request.sample_row = row;
      request.sample_column = column;
      const auto part = compare(request);
      ASSERT_TRUE(part.ok()) << part.error().message;
      const QuantizationSample& sample = part.value().reports.front().sample;
      ASSERT_EQ(sample.row, row);
      for (int i = 0; i < sample.rows * sample.columns; ++i) {
        const double magnitude =
            std::abs(static_cast<double>(sample.original[static_cast<std::size_t>(i)]));
        if (magnitude <= largest) continue;
        largest = magnitude;
        at_row = row + i / sample.columns;
        at_column = column + i % sample.columns;
      }
    }
  }
  request.sample_row = 40;
  request.sample_column = 64;
  request.sample_rows = 160;
  request.sample_columns = 160;
  const auto found = compare(request);
  ASSERT_TRUE(found.ok()) << found.error().message;
  const QuantizationSample& sample = found.value().reports.front().sample;
  const std::int64_t row = at_row - sample.row;
  const std::int64_t column = at_column - sample.column;
  ASSERT_TRUE(row >= 0 && row < sample.rows && column >= 0 && column < sample.columns);
  EXPECT_EQ(std::abs(sample.original[static_cast<std::size_t>(row * sample.columns + column)]),
            static_cast<float>(largest));
}

/// The experts that are left out change nothing in the sample, whatever the recipe, the direction
/// and the place are.
TEST_F(CpuComparison, ASampleAloneIsThatOfTheWholeOperand) {
  for (const bool weights : {false, true}) {
    for (const std::int64_t row : {std::int64_t{0}, std::int64_t{120}, std::int64_t{290}}) {
      ComparisonRequest whole = small();
      whole.weights = weights;
      whole.timed_launches = 0;
      whole.sample_row = row;
      whole.sample_column = 30;
      whole.sample_rows = row == 120 ? 100 : 0;  // also around a region's largest element
      whole.sample_columns = whole.sample_rows;
      ComparisonRequest alone = whole;
      alone.only_sample = true;
      const auto all = compare(whole);
      const auto part = compare(alone);
      ASSERT_TRUE(all.ok()) << all.error().message;
      ASSERT_TRUE(part.ok()) << part.error().message;
      ASSERT_EQ(part.value().reports.size(), all.value().reports.size());
      for (std::size_t i = 0; i < all.value().reports.size(); ++i) {
        const QuantizationSample& expected = all.value().reports[i].sample;
        const QuantizationSample& found = part.value().reports[i].sample;
        ASSERT_EQ(found.row, expected.row) << i;
        ASSERT_EQ(found.column, expected.column);
        ASSERT_EQ(found.original, expected.original);
        EXPECT_EQ(found.codes, expected.codes) << i;
        EXPECT_EQ(found.scale_inv, expected.scale_inv) << i;
        if (all.value().reports[i].refused.empty()) {
          EXPECT_LT(part.value().reports[i].statistics.elements,
                    all.value().reports[i].statistics.elements);
        }
      }
    }
  }
}

/// A whole W of this layer has 17 GB of values alone, and needs nine times that.
TEST_F(CpuComparison, ASampleOfALargeOperandNeedsOnlyItsExpert) {
  ComparisonRequest request = small();
  request.request.shape = {.preset = "", .num_experts = 1024, .rows = 1024, .n = 1024, .k = 8192};
  request.request.routing.distribution = RoutingDistribution::Uniform;
  request.weights = true;
  request.recipes = {Recipe{.scaling = Scaling::Block}};
  request.timed_launches = 0;
  request.only_sample = true;
  request.sample_row = 5 * 1024;
  request.sample_rows = 64;
  request.sample_columns = 64;
  const auto alone = compare(request);
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  const QuantizationReport& report = alone.value().reports.front();
  EXPECT_LE(report.statistics.elements, std::uint64_t{2 * 1024 * 8192});
  EXPECT_FALSE(report.statistics.channels) << "they would count from the expert's first row";
  EXPECT_EQ(report.sample.rows, kMaxSampleSide);
  EXPECT_GE(report.sample.row, 5 * 1024 - 2);
  EXPECT_LT(report.sample.row, 5 * 1024 + 64);
}

/// A layer that begins at tokens computes with copies of them: the sample has those.
TEST_F(CpuComparison, ASampleOfALayerFromTokensIsThatOfItsRun) {
  RunRequest layer;
  layer.step = StepKind::ExpertLayer;
  layer.shape = {.preset = "", .num_experts = 4, .rows = 512, .n = 128, .k = 256};
  layer.routing.distribution = RoutingDistribution::Zipf;
  layer.expert_layer.top_k = 2;
  layer.products.passes = StepPasses::ForwardBackward;
  layer.recipe.scaling = Scaling::Block;
  layer.launch.iterations = 1;
  const auto done = run(layer);
  ASSERT_TRUE(done.ok()) << done.error().message;
  for (const bool gradients : {false, true}) {
    const OperandStatistics* operand =
        statistics_of(done.value(), gradients ? StepTensor::DY : StepTensor::X);
    ASSERT_NE(operand, nullptr);
    ASSERT_TRUE(operand->channels.has_value());
    for (const Channel& one : operand->channels->rows.largest) {
      ComparisonRequest request{.request = layer,
                                .gradients = gradients,
                                .recipes = {layer.recipe},
                                .sample_row = one.index,
                                .sample_rows = 1,
                                .sample_columns = layer.shape.k,
                                .timed_launches = 0};
      request.only_sample = true;
      const auto found = compare(request);
      ASSERT_TRUE(found.ok()) << found.error().message;
      const QuantizationSample& sample = found.value().reports.front().sample;
      const std::int64_t at = (one.index - sample.row) * sample.columns +
                              static_cast<std::int64_t>(one.place) - sample.column;
      ASSERT_TRUE(at >= 0 && at < std::ssize(sample.original)) << one.index;
      EXPECT_EQ(static_cast<double>(std::abs(sample.original[static_cast<std::size_t>(at)])),
                static_cast<double>(one.amax))
          << "row " << one.index;
    }
  }
}

}  // namespace
}  // namespace engine
