// FP8 codes and every scale layout against plain loops.
#include "kernels/dequantize/dequantize.h"
#include "kernels/common/fp8_codes.h"

#include <gtest/gtest.h>

#include "tests/numerics/diagnostics/operand.h"

namespace {

using kernels::Fp8Format;
using kernels::ScaleLayout;

TEST(Fp8ToFloat, EveryCodeHasTheValueOfItsBits) {
  for (const Fp8Format format : {Fp8Format::E4m3, Fp8Format::E5m2}) {
    for (int code = 0; code < 256; ++code) {
      const auto byte = static_cast<std::uint8_t>(code);
      const double expected = tests::code_value(byte, format);
      const float value = kernels::fp8_values(format)[byte];
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(value)) << code;
      } else {
        EXPECT_EQ(static_cast<double>(value), expected) << code;
        EXPECT_EQ(std::signbit(value), code >= 128) << code;
      }
    }
  }
}

TEST(Fp8ToFloat, LimitsOfTheFormats) {
  EXPECT_EQ(kernels::fp8_values(Fp8Format::E4m3)[0x7E], 448.0F);
  EXPECT_TRUE(std::isnan(kernels::fp8_values(Fp8Format::E4m3)[0xFF]));
  EXPECT_EQ(kernels::fp8_values(Fp8Format::E4m3)[0x01], 0x1p-9F);
  EXPECT_EQ(kernels::fp8_values(Fp8Format::E5m2)[0x7B], 57344.0F);
  EXPECT_EQ(kernels::fp8_values(Fp8Format::E5m2)[0xFC], -INFINITY);
  EXPECT_TRUE(std::isnan(kernels::fp8_values(Fp8Format::E5m2)[0x7D]));
  EXPECT_EQ(kernels::fp8_values(Fp8Format::E5m2)[0x01], 0x1p-16F);
}

class DequantizeLayout : public testing::TestWithParam<ScaleLayout> {};

TEST_P(DequantizeLayout, EveryElementReadsItsOwnScaleAndTheTailIsUntouched) {
  // Rows that are no multiple of 4 or 128, empty groups at both ends and between, a partial last
  // block of columns.
  const tests::Operand operand = tests::make_operand(
      {.layout = GetParam(), .splits = {0, 3, 0, 131, 1, 256, 0}, .columns = 272});
  constexpr float kUntouched = -12345.0F;
  std::vector<float> output(operand.codes.size(), kUntouched);
  kernels::dequantize_cpu(
      {.quantized = tests::statistics_args(operand).quantized, .output = output.data()});
  std::size_t wrong = 0;
  tests::for_each_element(
      operand, [&](int g, std::int64_t row, std::int64_t column, std::size_t element) {
        const float expected = tests::dequantized_value(operand, g, row, column);
        const bool equal =
            std::isnan(expected) ? std::isnan(output[element]) : output[element] == expected;
        if (!equal) ++wrong;
      });
  EXPECT_EQ(wrong, 0U);
  const auto used = static_cast<std::size_t>(operand.row_offsets.back() * operand.columns);
  for (std::size_t i = used; i < output.size(); ++i) ASSERT_EQ(output[i], kUntouched);
}

INSTANTIATE_TEST_SUITE_P(All, DequantizeLayout,
                         testing::Values(ScaleLayout::PerTensor, ScaleLayout::BlockLine,
                                         ScaleLayout::BlockSquare));

TEST(Dequantize, NoGroupsAndOnlyEmptyGroupsDoNothing) {
  const std::vector<std::int64_t> offsets(1025, 0);
  float output = 7.0F;
  for (const int groups : {0, 1024}) {
    kernels::dequantize_cpu(
        {.quantized = {.row_offsets = offsets.data(), .num_groups = groups, .columns = 16},
         .output = &output});
  }
  EXPECT_EQ(output, 7.0F);
}

}  // namespace
