// Bias gradient on the host: the order of its additions spelled out, and its error against double.
#include "kernels/bias/bias.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>

#include "kernels/common/element_run.h"
#include "tests/numerics/quantize/plain_reference.h"

namespace quantize_tests {
namespace {

using kernels::InputType;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// The partial of rows [row, row + 128) of one column, of those before `end`.
float defined_partial(const kernels::GroupedInput& input, std::int64_t row, std::int64_t end,
                      std::int64_t column) {
  std::array<float, 8> s = {};
  for (std::int64_t r = row; r < std::min(end, row + 128); ++r) {
    s[at((r - row) / 16)] += element(input, r, column);
  }
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

TEST(BiasPartials, EqualTheirDefinition) {
  for (const GroupedCase& grouped : grouped_cases()) {
    for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
      SCOPED_TRACE(grouped.name);
      const Operand operand(grouped, type, Fill::Wild);
      const kernels::GroupedInput& input = operand.input;
      std::vector<float> partials(
          at(kernels::bias_partial_capacity(input.capacity_rows, input.num_groups, input.columns)),
          float_sentinel());
      kernels::bias_partials_cpu({.input = input, .partials = partials.data()});
      std::int64_t index = 0;
      for (int group = 0; group < input.num_groups; ++group) {
        const std::int64_t end = input.row_offsets[group + 1];
        for (std::int64_t row = input.row_offsets[group]; row < end; row += 128) {
          for (std::int64_t column = 0; column < input.columns; ++column, ++index) {
            ASSERT_TRUE(same(partials[at(index)], defined_partial(input, row, end, column)));
          }
        }
      }
      for (; index < static_cast<std::int64_t>(partials.size()); ++index) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(partials[at(index)]), kFloatSentinel);
      }
    }
  }
}

TEST(AddBias, RoundsEachSumOnceAndLeavesOtherRows) {
  const std::vector<std::int64_t> row_offsets = {0, 0, 2, 3};
  constexpr std::int64_t kColumns = 16;
  // One row of biases per group, and a row that belongs to none.
  const std::vector<std::uint16_t> bias(3 * kColumns, 0x3F80);  // 1 in BF16, 1.875 in FP16
  for (const InputType bias_type : {InputType::Bf16, InputType::Fp16}) {
    const float b = bias_type == InputType::Bf16 ? 1.0F : 1.875F;
    for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
      std::vector<float> wide(4 * kColumns);
      std::vector<std::uint16_t> narrow(wide.size());
      const auto rounded = [&](float value) {
        return type == InputType::Bf16 ? kernels::round_to_bf16(value)
                                       : kernels::round_to_fp16(value);
      };
      for (std::size_t i = 0; i < wide.size(); ++i) {
        wide[i] = std::ldexp(1.0F, static_cast<int>(i % 16));
        narrow[i] = rounded(wide[i]);
      }
      const std::vector<float> values = wide;
      kernels::add_bias_cpu(
          {.values = type == InputType::Fp32 ? static_cast<void*>(wide.data()) : narrow.data(),
           .type = type,
           .bias = bias.data(),
           .bias_type = bias_type,
           .row_offsets = row_offsets.data(),
           .num_groups = 3,
           .capacity_rows = 4,
           .columns = kColumns});
      for (std::size_t i = 0; i < wide.size(); ++i) {
        const float expected = i < 3 * kColumns ? values[i] + b : values[i];
        if (type == InputType::Fp32) {
          EXPECT_EQ(wide[i], expected) << i;
        } else {
          EXPECT_EQ(narrow[i], rounded(expected)) << i;
        }
      }
    }
  }
}

TEST(BiasGradient, SumsStripsFromTheTopAndRoundsOnce) {
  const std::vector<std::int64_t> row_offsets = {0, 0, 300, 300, 301};
  constexpr std::int64_t kColumns = 16;
  // Group 1 has three strips, group 3 one.
  std::vector<float> partials(4 * kColumns);
  for (std::size_t i = 0; i < partials.size(); ++i) {
    partials[i] = (i / kColumns == 0 ? 0x1p24F : 1.0F) + static_cast<float>(i % kColumns) * 4.0F;
  }
  for (const bool accumulate : {false, true}) {
    for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
      std::vector<float> wide(4 * kColumns, 2.0F);
      std::vector<std::uint16_t> narrow(4 * kColumns, 0x4000);  // 2 in both types
      kernels::reduce_bias_gradient_cpu(
          {.partials = partials.data(),
           .row_offsets = row_offsets.data(),
           .num_groups = 4,
           .columns = kColumns,
           .output_type = type,
           .gradient = type == InputType::Fp32 ? static_cast<void*>(wide.data()) : narrow.data(),
           .accumulate = accumulate});
      for (int group = 0; group < 4; ++group) {
        for (std::int64_t column = 0; column < kColumns; ++column) {
          const auto c = at(column);
          float sum = 0.0F;
          if (group == 1) sum = ((0.0F + partials[c]) + partials[16 + c]) + partials[32 + c];
          if (group == 3) sum = 0.0F + partials[48 + c];
          if (accumulate) sum = 2.0F + sum;
          const std::size_t i = at(group * kColumns + column);
          if (type == InputType::Fp32) {
            ASSERT_TRUE(same(wide[i], sum));
          } else {
            ASSERT_EQ(narrow[i], type == InputType::Bf16 ? kernels::round_to_bf16(sum)
                                                         : kernels::round_to_fp16(sum));
          }
        }
      }
    }
  }
}

TEST(BiasGradient, StaysNearTheSumInDouble) {
  const GroupedCase grouped{.name = "", .splits = {0, 4000, 77}, .columns = 144};
  const Operand operand(grouped, InputType::Fp32, Fill::Mild);
  kernels::GroupedInput input = operand.input;
  std::vector<float> values(at(input.capacity_rows * input.columns));
  std::memcpy(values.data(), operand.bytes.data(), operand.bytes.size());
  for (float& value : values) value = std::isnan(value) ? 1.0F : value;
  input.input = values.data();
  std::vector<float> partials(
      at(kernels::bias_partial_capacity(input.capacity_rows, input.num_groups, input.columns)));
  std::vector<float> gradient(at(3 * input.columns));
  kernels::bias_partials_cpu({.input = input, .partials = partials.data()});
  kernels::reduce_bias_gradient_cpu({.partials = partials.data(),
                                     .row_offsets = input.row_offsets,
                                     .num_groups = 3,
                                     .columns = input.columns,
                                     .output_type = InputType::Fp32,
                                     .gradient = gradient.data()});
  for (int group = 0; group < 3; ++group) {
    for (std::int64_t column = 0; column < input.columns; ++column) {
      double exact = 0.0;
      double magnitudes = 0.0;
      for (std::int64_t row = input.row_offsets[group]; row < input.row_offsets[group + 1]; ++row) {
        const auto value = static_cast<double>(values[at(row * input.columns + column)]);
        exact += value;
        magnitudes += std::fabs(value);
      }
      // 16 additions in a segment, 3 between segments, 32 strips: at most 51 roundings of 2^-24.
      ASSERT_NEAR(static_cast<double>(gradient[at(group * input.columns + column)]), exact,
                  51 * 0x1p-24 * magnitudes);
    }
  }
}

}  // namespace
}  // namespace quantize_tests
