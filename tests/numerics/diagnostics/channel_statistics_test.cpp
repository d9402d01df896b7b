// Statistics of rows and columns against plain loops in double precision, and their totals against
// those of the groups.
#include "kernels/diagnostics/channel_statistics.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstring>

#include "kernels/diagnostics/statistics.h"
#include "tests/numerics/diagnostics/operand.h"

namespace {

using kernels::ChannelSums;
using kernels::Fp8Format;
using kernels::InputType;
using kernels::LargestElement;
using kernels::ScaleLayout;

struct Channels {
  std::vector<ChannelSums> columns;
  std::vector<ChannelSums> rows;
  std::vector<std::uint64_t> blocks = std::vector<std::uint64_t>(kernels::kBlockErrorBins);
  std::vector<kernels::GroupQuantizationSums> groups;
};

std::vector<float> decoded_values(const tests::Operand& operand) {
  std::vector<float> decoded(static_cast<std::size_t>(operand.capacity_rows * operand.columns));
  tests::for_each_element(
      operand, [&](int group, std::int64_t row, std::int64_t column, std::size_t element) {
        decoded[element] = tests::dequantized_value(operand, group, row, column);
      });
  return decoded;
}

/// As an engine calls the two passes.
Channels measure_channels(const tests::Operand& operand, bool quantized) {
  Channels result;
  result.columns.resize(static_cast<std::size_t>(operand.columns));
  result.rows.resize(static_cast<std::size_t>(operand.capacity_rows));
  result.groups.resize(static_cast<std::size_t>(operand.num_groups()));
  kernels::QuantizationStatisticsArgs args = tests::statistics_args(operand);
  if (!quantized) args.quantized = {};
  kernels::MagnitudeCounts before{};
  kernels::MagnitudeCounts after{};
  args.before = &before;
  args.after = &after;
  args.sums = result.groups.data();
  args.columns = result.columns.data();
  args.rows = result.rows.data();
  kernels::quantization_statistics_cpu(args);
  const std::vector<float> decoded = decoded_values(operand);
  kernels::channel_statistics_cpu({.input = args.input,
                                   .decoded = quantized ? decoded.data() : nullptr,
                                   .block_counts = result.blocks.data(),
                                   .columns = result.columns.data(),
                                   .rows = result.rows.data()});
  return result;
}

/// One channel from the definitions.
struct ExpectedChannel {
  double signal = 0.0;
  double noise = 0.0;
  double amax = -1.0;
  std::int64_t place = -1;
  std::uint32_t saturated = 0;
  std::uint32_t underflowed = 0;
  std::uint32_t lost = 0;
  std::uint32_t undefined = 0;

  void add(double x, double y, bool cut, std::int64_t at) {
    if (cut) ++saturated;
    if (!std::isfinite(x)) {
      ++undefined;
      return;
    }
    if (std::fabs(x) > amax) {
      amax = std::fabs(x);
      place = at;
    }
    if (!std::isfinite(y)) {
      ++lost;
      return;
    }
    if (x != 0.0 && y == 0.0) ++underflowed;
    signal += x * x;
    noise += (x - y) * (x - y);
  }
};

void expect_channel(const ChannelSums& actual, const ExpectedChannel& expected) {
  EXPECT_NEAR(actual.signal, expected.signal, expected.signal * 1e-6);
  EXPECT_NEAR(actual.noise, expected.noise, expected.noise * 1e-6);
  const LargestElement largest = LargestElement::unpacked(actual.largest);
  EXPECT_EQ(largest.place, expected.place);
  EXPECT_EQ(static_cast<double>(largest.amax), std::max(expected.amax, 0.0));
  EXPECT_EQ(actual.saturated, expected.saturated);
  EXPECT_EQ(actual.underflowed, expected.underflowed);
  EXPECT_EQ(actual.lost, expected.lost);
  EXPECT_EQ(actual.undefined, expected.undefined);
}

void expect_plain_loops(const tests::Operand& operand, bool quantized) {
  std::vector<ExpectedChannel> columns(static_cast<std::size_t>(operand.columns));
  std::vector<ExpectedChannel> rows(static_cast<std::size_t>(operand.capacity_rows));
  tests::for_each_element(
      operand, [&](int group, std::int64_t row, std::int64_t column, std::size_t element) {
        const double x = tests::input_value(operand, element);
        const double y = quantized ? tests::dequantized_value(operand, group, row, column) : x;
        bool cut = false;
        if (quantized) {
          // FP32 as the header defines it; the volatile keeps the two roundings apart.
          const volatile float scale =
              1.0F / operand.scale_inv[tests::scale_position(operand, group, row, column)];
          const volatile float scaled = static_cast<float>(std::fabs(x)) * scale;
          cut = scaled > kernels::fp8_max(operand.format) * 1.0000002384F;
        }
        const std::int64_t at = operand.row_offsets[static_cast<std::size_t>(group)] + row;
        columns[static_cast<std::size_t>(column)].add(x, y, cut, at);
        rows[static_cast<std::size_t>(at)].add(x, y, cut, column);
      });
  const Channels actual = measure_channels(operand, quantized);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    SCOPED_TRACE("column " + std::to_string(i));
    expect_channel(actual.columns[i], columns[i]);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE("row " + std::to_string(i));
    expect_channel(actual.rows[i], rows[i]);
  }
}

using ChannelCase = std::tuple<InputType, Fp8Format, ScaleLayout>;
class ChannelStatistics : public testing::TestWithParam<ChannelCase> {
 protected:
  static tests::Operand operand(std::int64_t columns) {
    const auto [type, format, layout] = GetParam();
    // Empty experts, one with a single row, one with a strip and a part of one.
    return tests::make_operand({.type = type,
                                .format = format,
                                .layout = layout,
                                .splits = {0, 1, 0, 37, 131, 0},
                                .columns = columns});
  }
};

TEST_P(ChannelStatistics, AgreesWithPlainLoops) {
  // 272 and 4240: the last tile is narrower; 20: the last block of a row is shorter.
  for (const std::int64_t columns : {20, 272, 4240}) {
    SCOPED_TRACE(columns);
    expect_plain_loops(operand(columns), true);
  }
}

TEST_P(ChannelStatistics, UnquantizedElementsHaveNoNoise) {
  expect_plain_loops(operand(272), false);
  for (const ChannelSums& row : measure_channels(operand(272), false).rows)
    EXPECT_EQ(row.noise, 0.0);
}

TEST_P(ChannelStatistics, TotalsAreThoseOfTheGroups) {
  const Channels channels = measure_channels(operand(4240), true);
  kernels::GroupQuantizationSums all{};
  for (const auto& group : channels.groups) kernels::add_sums(group, all);
  EXPECT_GT(all.saturated, 0U);
  EXPECT_GT(all.underflowed, 0U);
  EXPECT_GT(all.undefined, 0U);
  for (const auto* axis : {&channels.columns, &channels.rows}) {
    kernels::GroupQuantizationSums sum{};
    for (const ChannelSums& channel : *axis) {
      sum.signal += channel.signal;
      sum.noise += channel.noise;
      sum.saturated += channel.saturated;
      sum.underflowed += channel.underflowed;
      sum.lost += channel.lost;
      sum.undefined += channel.undefined;
    }
    EXPECT_NEAR(sum.signal, all.signal, all.signal * 1e-6);
    EXPECT_NEAR(sum.noise, all.noise, all.noise * 1e-6);
    EXPECT_EQ(sum.saturated, all.saturated);
    EXPECT_EQ(sum.underflowed, all.underflowed);
    EXPECT_EQ(sum.lost, all.lost);
    EXPECT_EQ(sum.undefined, all.undefined);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ChannelStatistics,
    testing::Combine(testing::Values(InputType::Bf16, InputType::Fp16, InputType::Fp32),
                     testing::Values(Fp8Format::E4m3, Fp8Format::E5m2),
                     testing::Values(ScaleLayout::PerTensor, ScaleLayout::BlockLine,
                                     ScaleLayout::BlockSquare)));

void expect_same_bits(const std::vector<ChannelSums>& a, const std::vector<ChannelSums>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(std::memcmp(&a[i], &b[i], sizeof a[i]), 0) << "channel " << i;
  }
}

TEST(ChannelSumsOrder, DoesNotDependOnTheNumberOfThreads) {
  const tests::Operand operand = tests::make_operand({.splits = {300, 0, 400}, .columns = 1040});
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Channels one = measure_channels(operand, true);
  omp_set_num_threads(5);
  const Channels five = measure_channels(operand, true);
  omp_set_num_threads(threads);
  expect_same_bits(five.columns, one.columns);
  expect_same_bits(five.rows, one.rows);
  EXPECT_EQ(five.blocks, one.blocks);
}

/// The order that the header defines, written down once more without tiles in parallel or vectors.
TEST(ChannelSumsOrder, IsTheDefinedOne) {
  const tests::Operand operand = tests::make_operand({.splits = {1, 131}, .columns = 272});
  const std::vector<float> decoded = decoded_values(operand);
  const auto squares = [&](std::int64_t row, std::int64_t column) -> std::pair<double, double> {
    if (column >= operand.columns) return {0.0, 0.0};
    const auto i = static_cast<std::size_t>(row * operand.columns + column);
    const auto x = static_cast<float>(tests::input_value(operand, i));
    const volatile float error = x - decoded[i];
    if (!std::isfinite(error)) return {0.0, 0.0};
    return {static_cast<double>(x) * static_cast<double>(x),
            static_cast<double>(error) * static_cast<double>(error)};
  };
  const Channels actual = measure_channels(operand, true);
  for (std::int64_t column = 0; column < operand.columns; ++column) {
    double noise = 0.0;
    for (const auto& [first, end] : {std::pair{0, 1}, {1, 65}, {65, 129}, {129, 132}}) {
      double strip = 0.0;
      for (int row = first; row < end; ++row) strip += squares(row, column).second;
      noise += strip;
    }
    EXPECT_EQ(actual.columns[static_cast<std::size_t>(column)].noise, noise) << column;
  }
  for (std::int64_t row = 0; row < 132; ++row) {
    double signal = 0.0;
    for (std::int64_t tile = 0; tile < 512; tile += 256) {
      std::vector<double> values;
      for (std::int64_t i = 0; i < 256; ++i) values.push_back(squares(row, tile + i).first);
      for (; values.size() > 1; values.resize(values.size() / 2)) {
        for (std::size_t i = 0; i < values.size() / 2; ++i) {
          values[i] = values[2 * i] + values[2 * i + 1];
        }
      }
      signal += values.front();
    }
    EXPECT_EQ(actual.rows[static_cast<std::size_t>(row)].signal, signal) << row;
  }
}

/// The experts of a CPU step are measured one after another, those of a device at once.
TEST(ChannelSumsOrder, ExpertByExpertGivesTheSameBits) {
  const tests::Operand operand = tests::make_operand({.splits = {70, 0, 1, 200}, .columns = 272});
  const std::vector<float> decoded = decoded_values(operand);
  const Channels at_once = measure_channels(operand, true);
  Channels one_by_one;
  one_by_one.columns.resize(at_once.columns.size());
  one_by_one.rows.resize(at_once.rows.size());
  for (int group = 0; group < operand.num_groups(); ++group) {
    const std::int64_t first = operand.row_offsets[static_cast<std::size_t>(group)];
    const std::int64_t offsets[] = {
        0, operand.row_offsets[static_cast<std::size_t>(group) + 1] - first};
    kernels::channel_statistics_cpu(
        {.input = {.input = operand.words.data() + first * operand.columns,
                   .type = operand.type,
                   .row_offsets = offsets,
                   .num_groups = 1,
                   .capacity_rows = offsets[1],
                   .columns = operand.columns},
         .decoded = decoded.data() + first * operand.columns,
         .block_counts = one_by_one.blocks.data(),
         .columns = one_by_one.columns.data(),
         .rows = one_by_one.rows.data() + first,
         .first_row = first});
  }
  for (std::size_t i = 0; i < at_once.columns.size(); ++i) {
    EXPECT_EQ(one_by_one.columns[i].signal, at_once.columns[i].signal) << i;
    EXPECT_EQ(one_by_one.columns[i].noise, at_once.columns[i].noise) << i;
    EXPECT_EQ(one_by_one.columns[i].largest, at_once.columns[i].largest) << i;
  }
}

TEST(LargestElement, OfEqualOnesTheFirst) {
  std::vector<float> x(3 * 32, 1.0F);
  x[32 + 7] = -4.0F;
  x[32 + 9] = 4.0F;
  x[64 + 7] = 4.0F;
  for (std::size_t row = 0; row < 3; ++row) {
    x[row * 32 + 20] = 0.0F;
    x[row * 32 + 21] = std::numeric_limits<float>::quiet_NaN();
  }
  const std::vector<std::int64_t> offsets = {0, 3};
  std::vector<ChannelSums> columns(32);
  std::vector<ChannelSums> rows(3);
  std::vector<std::uint64_t> blocks(kernels::kBlockErrorBins);
  kernels::channel_statistics_cpu({.input = {.input = x.data(),
                                             .type = InputType::Fp32,
                                             .row_offsets = offsets.data(),
                                             .num_groups = 1,
                                             .capacity_rows = 3,
                                             .columns = 32},
                                   .block_counts = blocks.data(),
                                   .columns = columns.data(),
                                   .rows = rows.data()});
  const LargestElement column = LargestElement::unpacked(columns[7].largest);
  EXPECT_EQ(column.amax, 4.0F);
  EXPECT_EQ(column.place, 1);
  EXPECT_EQ(LargestElement::unpacked(rows[1].largest).place, 7);
  EXPECT_EQ(LargestElement::unpacked(rows[0].largest).place, 0);
  EXPECT_EQ(LargestElement::unpacked(columns[20].largest).amax, 0.0F);
  EXPECT_EQ(LargestElement::unpacked(columns[20].largest).place, 0);
  EXPECT_EQ(LargestElement::unpacked(columns[21].largest).place, -1);
}

}  // namespace
