// Histograms, sums and counts of the CPU twin against plain loops in double precision.
#include <gtest/gtest.h>
#include <omp.h>

#include <tuple>

#include "kernels/diagnostics/statistics.h"
#include "tests/numerics/diagnostics/operand.h"

namespace {

using kernels::Fp8Format;
using kernels::GroupQuantizationSums;
using kernels::InputType;
using kernels::MagnitudeCounts;
using kernels::ScaleLayout;

/// Four bins per power of two, from the value rather than from its bits.
void count_naively(double value, MagnitudeCounts& counts) {
  if (std::isnan(value)) {
    ++counts.nans;
  } else if (std::isinf(value)) {
    ++counts.infinities;
  } else if (value == 0.0) {
    ++counts.zeros;
  } else {
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent);  // [0.5, 1)
    int bin = 0;
    if (exponent - 1 < -126) {
      bin = static_cast<int>(std::fabs(value) / 0x1p-128);
    } else {
      bin = (exponent - 1 + 127) * 4 + static_cast<int>((2.0 * fraction - 1.0) * 4.0);
    }
    ++counts.bins[bin];
  }
}

struct Statistics {
  MagnitudeCounts before{};
  MagnitudeCounts after{};
  std::vector<GroupQuantizationSums> sums;
};

Statistics naive(const tests::Operand& operand, bool quantized) {
  Statistics result;
  result.sums.resize(static_cast<std::size_t>(operand.num_groups()));
  tests::for_each_element(
      operand, [&](int g, std::int64_t row, std::int64_t column, std::size_t element) {
        GroupQuantizationSums& sums = result.sums[static_cast<std::size_t>(g)];
        const double x = tests::input_value(operand, element);
        const double y = quantized ? tests::dequantized_value(operand, g, row, column) : x;
        count_naively(x, result.before);
        count_naively(y, result.after);
        ++(!std::isfinite(x) ? sums.undefined : !std::isfinite(y) ? sums.lost : sums.elements);
        if (std::isfinite(x) && std::isfinite(y)) {
          sums.signal += x * x;
          sums.noise += (x - y) * (x - y);
        }
        if (!quantized) return;
        const double factor = operand.scale_inv[tests::scale_position(operand, g, row, column)];
        if (std::isfinite(x) && std::isfinite(y) && factor > 0.0) {
          const bool e4m3 = operand.format == Fp8Format::E4m3;
          const double code = std::fabs(tests::code_value(operand.codes[element], operand.format));
          const int exponent = std::ilogb(std::max(code, e4m3 ? 0x1p-6 : 0x1p-14));
          const double unit = factor * std::ldexp(1.0, exponent - (e4m3 ? 3 : 2));
          sums.max_ulp = std::max(
              sums.max_ulp, static_cast<float>(std::min(std::fabs(x - y) / unit, 0x1.fffffep127)));
        }
        // FP32 as the header defines it; the volatile keeps the two roundings apart.
        const volatile float scale =
            1.0F / operand.scale_inv[tests::scale_position(operand, g, row, column)];
        const volatile float scaled = static_cast<float>(std::fabs(x)) * scale;
        if (scaled > kernels::fp8_max(operand.format) * 1.0000002384F) ++sums.saturated;
        if (x != 0.0 && std::isfinite(x) && y == 0.0) ++sums.underflowed;
      });
  return result;
}

Statistics measure(const tests::Operand& operand, bool quantized) {
  Statistics result;
  result.sums.resize(static_cast<std::size_t>(operand.num_groups()));
  kernels::QuantizationStatisticsArgs args = tests::statistics_args(operand);
  if (!quantized) args.quantized = {};
  args.before = &result.before;
  args.after = &result.after;
  args.sums = result.sums.data();
  kernels::quantization_statistics_cpu(args);
  return result;
}

void expect_equal_counts(const MagnitudeCounts& actual, const MagnitudeCounts& expected) {
  for (int bin = 0; bin < kernels::kMagnitudeBins; ++bin) {
    ASSERT_EQ(actual.bins[bin], expected.bins[bin]) << "bin " << bin;
  }
  EXPECT_EQ(actual.zeros, expected.zeros);
  EXPECT_EQ(actual.infinities, expected.infinities);
  EXPECT_EQ(actual.nans, expected.nans);
}

void expect_equal(const Statistics& actual, const Statistics& expected) {
  expect_equal_counts(actual.before, expected.before);
  expect_equal_counts(actual.after, expected.after);
  for (std::size_t g = 0; g < expected.sums.size(); ++g) {
    SCOPED_TRACE(g);
    EXPECT_NEAR(actual.sums[g].signal, expected.sums[g].signal, expected.sums[g].signal * 1e-11);
    EXPECT_NEAR(actual.sums[g].noise, expected.sums[g].noise, expected.sums[g].noise * 1e-11);
    EXPECT_EQ(actual.sums[g].saturated, expected.sums[g].saturated);
    EXPECT_EQ(actual.sums[g].underflowed, expected.sums[g].underflowed);
    EXPECT_EQ(actual.sums[g].elements, expected.sums[g].elements);
    EXPECT_EQ(actual.sums[g].lost, expected.sums[g].lost);
    EXPECT_EQ(actual.sums[g].undefined, expected.sums[g].undefined);
    EXPECT_FLOAT_EQ(actual.sums[g].max_ulp, expected.sums[g].max_ulp);
  }
}

using Case = std::tuple<InputType, Fp8Format, ScaleLayout>;
class QuantizationStatistics : public testing::TestWithParam<Case> {};

TEST_P(QuantizationStatistics, AgreesWithPlainLoops) {
  const auto [type, format, layout] = GetParam();
  // 4,240 columns: more than one piece of a row, and a partial last block.
  for (const std::int64_t columns : {16, 272, 4240}) {
    const tests::Operand operand = tests::make_operand({.type = type,
                                                        .format = format,
                                                        .layout = layout,
                                                        .splits = {0, 3, 0, 37, 131, 0},
                                                        .columns = columns});
    const Statistics expected = naive(operand, true);
    EXPECT_GT(expected.before.zeros, 0U);
    EXPECT_GT(expected.before.infinities, 0U);
    EXPECT_GT(expected.before.nans, 0U);
    EXPECT_GT(expected.sums[4].underflowed, 0U);
    EXPECT_GT(expected.sums[4].saturated, 0U);
    expect_equal(measure(operand, true), expected);
  }
}

TEST_P(QuantizationStatistics, LossesOfTheBlocksAddUpToThoseOfTheGroups) {
  const auto [type, format, layout] = GetParam();
  const tests::Operand operand = tests::make_operand({.type = type,
                                                      .format = format,
                                                      .layout = layout,
                                                      .splits = {0, 3, 0, 37, 131, 0},
                                                      .columns = 272});
  std::vector<kernels::BlockLosses> losses(operand.scale_inv.size());
  Statistics statistics;
  statistics.sums.resize(6);
  kernels::QuantizationStatisticsArgs args = tests::statistics_args(operand);
  args.before = &statistics.before;
  args.after = &statistics.after;
  args.sums = statistics.sums.data();
  args.losses = losses.data();
  kernels::quantization_statistics_cpu(args);
  kernels::BlockLosses blocks = {};
  for (const kernels::BlockLosses& block : losses) {
    blocks.saturated += block.saturated;
    blocks.underflowed += block.underflowed;
    if (layout == ScaleLayout::BlockLine) {
      EXPECT_LE(block.saturated + block.underflowed, 128U);
    }
  }
  kernels::BlockLosses groups = {};
  for (const GroupQuantizationSums& group : statistics.sums) {
    groups.saturated += group.saturated;
    groups.underflowed += group.underflowed;
  }
  EXPECT_GT(groups.saturated, 0U);
  EXPECT_GT(groups.underflowed, 0U);
  EXPECT_EQ(blocks.saturated, groups.saturated);
  EXPECT_EQ(blocks.underflowed, groups.underflowed);
}

TEST_P(QuantizationStatistics, WithoutCodesAfterEqualsBefore) {
  const auto [type, format, layout] = GetParam();
  const tests::Operand operand =
      tests::make_operand({.type = type, .format = format, .layout = layout, .splits = {5, 0, 70}});
  const Statistics actual = measure(operand, false);
  expect_equal(actual, naive(operand, false));
  EXPECT_EQ(actual.sums[0].noise, 0.0);
}

INSTANTIATE_TEST_SUITE_P(
    All, QuantizationStatistics,
    testing::Combine(testing::Values(InputType::Bf16, InputType::Fp16, InputType::Fp32),
                     testing::Values(Fp8Format::E4m3, Fp8Format::E5m2),
                     testing::Values(ScaleLayout::PerTensor, ScaleLayout::BlockLine,
                                     ScaleLayout::BlockSquare)));

TEST(QuantizationStatisticsSums, DoNotDependOnTheNumberOfThreads) {
  const tests::Operand operand = tests::make_operand({.splits = {100, 0, 400}, .columns = 1024});
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Statistics one = measure(operand, true);
  omp_set_num_threads(5);
  const Statistics five = measure(operand, true);
  omp_set_num_threads(threads);
  expect_equal_counts(five.after, one.after);
  for (std::size_t g = 0; g < one.sums.size(); ++g) {
    EXPECT_EQ(five.sums[g].signal, one.sums[g].signal);
    EXPECT_EQ(five.sums[g].noise, one.sums[g].noise);
  }
}

TEST(QuantizationStatisticsSums, Accumulate) {
  const tests::Operand operand = tests::make_operand({.splits = {20}, .columns = 128});
  Statistics twice;
  twice.sums.resize(1);
  kernels::QuantizationStatisticsArgs args = tests::statistics_args(operand);
  args.before = &twice.before;
  args.after = &twice.after;
  args.sums = twice.sums.data();
  kernels::quantization_statistics_cpu(args);
  kernels::quantization_statistics_cpu(args);
  const Statistics once = measure(operand, true);
  EXPECT_EQ(twice.before.zeros, 2 * once.before.zeros);
  EXPECT_EQ(twice.after.bins[500], 2 * once.after.bins[500]);
  EXPECT_EQ(twice.sums[0].signal, 2 * once.sums[0].signal);
  EXPECT_EQ(twice.sums[0].saturated, 2 * once.sums[0].saturated);
}

/// One FP32 element against one code under one scale.
GroupQuantizationSums sums_of_one(float x, std::uint8_t code, float scale_inv) {
  std::vector<float> input(16, 0.0F);
  input[3] = x;
  std::vector<std::uint8_t> codes(16, 0);
  codes[3] = code;
  const std::vector<std::int64_t> offsets = {0, 1};
  MagnitudeCounts before{};
  MagnitudeCounts after{};
  GroupQuantizationSums sums{};
  kernels::quantization_statistics_cpu({.input = {.input = input.data(),
                                                  .type = InputType::Fp32,
                                                  .row_offsets = offsets.data(),
                                                  .num_groups = 1,
                                                  .capacity_rows = 1,
                                                  .columns = 16},
                                        .quantized = {.codes = codes.data(),
                                                      .scales = &scale_inv,
                                                      .row_offsets = offsets.data(),
                                                      .num_groups = 1,
                                                      .capacity_rows = 1,
                                                      .columns = 16},
                                        .before = &before,
                                        .after = &after,
                                        .sums = &sums});
  return sums;
}

TEST(Saturation, TheElementThatSetTheScaleIsNotCut) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> amax(0.1F, 10.0F);
  for (int i = 0; i < 2000; ++i) {
    const float x = amax(random);
    const float scale = 448.0F / x;
    EXPECT_EQ(sums_of_one(x, 0x7E, 1.0F / scale).saturated, 0U) << x;
  }
}

TEST(Saturation, NonFiniteAndExtremes) {
  EXPECT_EQ(sums_of_one(INFINITY, 0x7E, 1.0F).saturated, 1U);
  EXPECT_EQ(sums_of_one(NAN, 0x7F, 1.0F).saturated, 0U);
  EXPECT_EQ(sums_of_one(448.0F, 0x7E, 1.0F).saturated, 0U);
  EXPECT_EQ(sums_of_one(-448.01F, 0xFE, 1.0F).saturated, 1U);
  // A tiny amax takes the largest finite scale, whose inverse is subnormal: 1e-38 is not cut.
  EXPECT_EQ(sums_of_one(1e-38F, 0x45, 1.0F / std::numeric_limits<float>::max()).saturated, 0U);
}

TEST(MaxUlp, CountsInStepsOfTheCode) {
  EXPECT_EQ(sums_of_one(1.0625F, 0x38, 1.0F).max_ulp, 0.5F);   // steps of 1/8 at 1
  EXPECT_EQ(sums_of_one(4.25F, 0x38, 4.0F).max_ulp, 0.5F);     // and of 1/2 with a factor of 4
  EXPECT_EQ(sums_of_one(-480.0F, 0xFE, 1.0F).max_ulp, 1.0F);   // cut: steps of 32 at 448
  EXPECT_EQ(sums_of_one(0x1p-10F, 0x00, 1.0F).max_ulp, 0.5F);  // subnormal codes: 2^-9
  EXPECT_EQ(sums_of_one(INFINITY, 0x7E, 1.0F).max_ulp, 0.0F);  // not finite
}

TEST(Underflow, CountsNonzeroValuesThatBecameZero) {
  EXPECT_EQ(sums_of_one(1e-30F, 0x00, 1.0F).underflowed, 1U);
  EXPECT_EQ(sums_of_one(-1e-42F, 0x80, 1.0F).underflowed, 1U);  // a subnormal is not zero
  EXPECT_EQ(sums_of_one(-0.0F, 0x80, 1.0F).underflowed, 0U);
  EXPECT_EQ(sums_of_one(1.0F, 0x38, 1.0F).underflowed, 0U);
}

TEST(MagnitudeCountsOfArray, AgreesWithPlainLoop) {
  const tests::Operand operand =
      tests::make_operand({.type = InputType::Fp32, .splits = {900}, .columns = 272});
  MagnitudeCounts expected{};
  for (const float value : operand.floats) count_naively(value, expected);
  MagnitudeCounts actual{};
  kernels::magnitude_counts_cpu(operand.floats.data(),
                                static_cast<std::int64_t>(operand.floats.size()), actual);
  expect_equal_counts(actual, expected);
  kernels::magnitude_counts_cpu(nullptr, 0, actual);
  EXPECT_EQ(actual.nans, expected.nans);
}

TEST(MagnitudeCountsOfArray, FourBinsPerPowerOfTwo) {
  const std::vector<float> values = {1.0F, 1.24F, 1.25F, 1.5F, -1.75F, 2.0F};
  MagnitudeCounts counts{};
  kernels::magnitude_counts_cpu(values.data(), static_cast<std::int64_t>(values.size()), counts);
  EXPECT_EQ(counts.bins[508], 2U);
  EXPECT_EQ(counts.bins[509], 1U);
  EXPECT_EQ(counts.bins[510], 1U);
  EXPECT_EQ(counts.bins[511], 1U);
  EXPECT_EQ(counts.bins[512], 1U);
}

}  // namespace
