// The CPU twins against the definitions, bit for bit: encoder, scale rule, and every recipe over
// shapes with empty groups, ragged rows and partial column blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/amax/group_amax.h"
#include "kernels/common/element_run.h"
#include "kernels/common/scale_rule.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_per_tensor.h"
#include "tests/numerics/quantize/plain_reference.h"

namespace quantize_tests {
namespace {

using kernels::Fp8Format;
using kernels::InputType;

std::vector<std::uint32_t> float_bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

std::uint8_t encode(float value, Fp8Format format) {
  std::uint8_t code = 0;
  kernels::cast_run({.input = &value, .type = InputType::Fp32, .count = 1}, 1.0F, format, &code);
  return code;
}

TEST(Fp8Encode, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Fp8Format format : {Fp8Format::E4m3, Fp8Format::E5m2}) {
    EXPECT_EQ(encode(nan, format), 0x7F);
    EXPECT_EQ(encode(-nan, format), 0x7F);
    EXPECT_EQ(encode(0.0F, format), 0x00);
    EXPECT_EQ(encode(-0.0F, format), 0x80);
    EXPECT_EQ(encode(-1e-30F, format), 0x80);
  }
  EXPECT_EQ(encode(inf, Fp8Format::E4m3), 0x7E);
  EXPECT_EQ(encode(-inf, Fp8Format::E4m3), 0xFE);
  EXPECT_EQ(encode(449.0F, Fp8Format::E4m3), 0x7E);
  EXPECT_EQ(encode(1e9F, Fp8Format::E4m3), 0x7E);
  EXPECT_EQ(encode(inf, Fp8Format::E5m2), 0x7B);
  EXPECT_EQ(encode(-inf, Fp8Format::E5m2), 0xFB);
  EXPECT_EQ(encode(65536.0F, Fp8Format::E5m2), 0x7B);
  EXPECT_EQ(encode(0x1p-10F, Fp8Format::E4m3), 0x00) << "a tie with zero goes to zero";
  EXPECT_EQ(encode(0x1.8p-9F, Fp8Format::E4m3), 0x02) << "a tie goes to the even code";
  EXPECT_EQ(encode(0x1.EFp-7F, Fp8Format::E4m3), 0x08) << "rounds up to the first normal";
  EXPECT_EQ(encode(0x1p-17F, Fp8Format::E5m2), 0x00);
  EXPECT_EQ(encode(0x1.8p-16F, Fp8Format::E5m2), 0x02);
}

void expect_every_pattern(InputType type) {
  std::vector<std::uint16_t> patterns(65536);
  std::iota(patterns.begin(), patterns.end(), std::uint16_t{0});
  std::vector<std::uint8_t> codes(patterns.size());
  for (const Fp8Format format : {Fp8Format::E4m3, Fp8Format::E5m2}) {
    const CodeSearch search(format);
    for (const float scale : {1.0F, 448.0F / 3.0F, 0.1F, 0x1p127F, 0x1p-127F,
                              std::numeric_limits<float>::max(), 57344.0F / 448.0F}) {
      kernels::cast_run({.input = patterns.data(), .type = type, .count = 65536}, scale, format,
                        codes.data());
      for (std::size_t i = 0; i < patterns.size(); ++i) {
        const float value = decode_bits(patterns[i], element_format(type));
        ASSERT_EQ(codes[i], search.nearest(value * scale)) << value << " times " << scale;
      }
    }
  }
}

TEST(Fp8Encode, EveryBf16PatternUnderManyScales) { expect_every_pattern(InputType::Bf16); }

TEST(Fp8Encode, EveryFp16PatternUnderManyScales) { expect_every_pattern(InputType::Fp16); }

TEST(Fp8Encode, Fp32NextToEveryRoundingBoundary) {
  for (const Fp8Format format : {Fp8Format::E4m3, Fp8Format::E5m2}) {
    const CodeSearch search(format);
    const int mantissa_bits = format == Fp8Format::E4m3 ? 3 : 2;
    // Halves and quarters of the finest step that any code at this exponent has, and their
    // neighbours one FP32 step away.
    for (int exponent = -20; exponent <= 17; ++exponent) {
      for (int part = 0; part < 8 << mantissa_bits; ++part) {
        const float centre = std::ldexp(
            1.0F + static_cast<float>(part) / static_cast<float>(8 << mantissa_bits), exponent);
        for (const float value :
             {centre, std::nextafter(centre, 0.0F), std::nextafter(centre, 1e30F)}) {
          ASSERT_EQ(encode(value, format), search.nearest(value)) << value;
          ASSERT_EQ(encode(-value, format), search.nearest(-value)) << -value;
        }
      }
    }
  }
}

TEST(ScaleRule, GoldenVectors) {
  struct Golden {
    float amax;
    std::uint32_t e4m3, e4m3_pow2_bf16, e5m2;
  };
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Golden golden[] = {
      {0.0F, 0x3F800000, 0x3F800000, 0x3F800000},   {inf, 0x3F800000, 0x3F800000, 0x3F800000},
      {nan, 0x3F800000, 0x3F800000, 0x3F800000},    {1e-38F, 0x7F7FFFFF, 0x7F000000, 0x7F7FFFFF},
      {1.0F, 0x43E00000, 0x43800000, 0x47600000},   {3.0F, 0x43155555, 0x43000000, 0x46955555},
      {3.5F, 0x43000000, 0x43000000, 0x46800000},   {448.0F, 0x3F800000, 0x3F800000, 0x43000000},
      {449.0F, 0x3F7F6E0A, 0x3F000000, 0x42FF6E0A}, {57344.0F, 0x3C000000, 0x3C000000, 0x3F800000},
  };
  for (const Golden& row : golden) {
    std::vector<float> scale(3);
    std::vector<float> scale_inv(3);
    kernels::per_tensor_scale_cpu({.amax = &row.amax,
                                   .num_groups = 1,
                                   .format = Fp8Format::E4m3,
                                   .scale = &scale[0],
                                   .scale_inv = &scale_inv[0]});
    kernels::per_tensor_scale_cpu({.amax = &row.amax,
                                   .num_groups = 1,
                                   .format = Fp8Format::E5m2,
                                   .scale = &scale[1],
                                   .scale_inv = &scale_inv[1]});
    scale[2] = kernels::scale_from_amax(
        row.amax, {.pow2 = true, .inf_value = kernels::input_max(InputType::Bf16)});
    EXPECT_THAT(float_bits(scale), testing::ElementsAre(row.e4m3, row.e5m2, row.e4m3_pow2_bf16))
        << "amax " << row.amax;
    EXPECT_EQ(scale_inv[0], 1.0F / scale[0]);
  }
  // FP16's largest value is not a power of two: it becomes 2^15.
  EXPECT_EQ(kernels::scale_from_amax(
                1e-38F, {.pow2 = true, .inf_value = kernels::input_max(InputType::Fp16)}),
            32768.0F);
}

TEST(ScaleRule, InverseStaysSubnormal) {
  const float amax = 1e-38F;
  float scale = 0.0F;
  float scale_inv = 0.0F;
  kernels::per_tensor_scale_cpu({.amax = &amax,
                                 .num_groups = 1,
                                 .options = {.pow2 = true},
                                 .scale = &scale,
                                 .scale_inv = &scale_inv});
  EXPECT_EQ(scale, 0x1p127F);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(scale_inv), 0x00400000U);  // 2^-127
}

TEST(ScaleRule, EpsilonIsAFloorAlsoForZero) {
  const kernels::ScaleRule rule{.amax_epsilon = 0.5F,
                                .inf_value = std::numeric_limits<float>::max()};
  EXPECT_EQ(kernels::scale_from_amax(0.0F, rule), 896.0F);
  EXPECT_EQ(kernels::scale_from_amax(0.25F, rule), 896.0F);
  EXPECT_EQ(kernels::scale_from_amax(0.5F, rule), 896.0F);
  EXPECT_EQ(kernels::scale_from_amax(1.0F, rule), 448.0F);
  EXPECT_EQ(kernels::scale_from_amax(std::numeric_limits<float>::quiet_NaN(), rule), 1.0F);
}

class GroupedQuantize : public testing::TestWithParam<GroupedCase> {};

TEST_P(GroupedQuantize, PerTensor) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.name());
    const Operand operand(GetParam(), variant.type, variant.fill);
    const int groups = operand.input.num_groups;
    const Expected expected =
        defined_quantization(Recipe::PerTensor, operand.input, variant, groups);
    const auto count = static_cast<std::size_t>(groups);
    std::vector<float> amax(count, float_sentinel());
    std::vector<float> scale(count);
    std::vector<float> scale_inv(count);
    std::vector<std::uint8_t> codes(expected.codes.size(), kCodeSentinel);
    kernels::group_amax_cpu({.input = operand.input, .amax = amax.data()});
    ASSERT_EQ(float_bits(amax), float_bits(expected.amax));
    kernels::per_tensor_scale_cpu({.amax = amax.data(),
                                   .num_groups = groups,
                                   .format = variant.format,
                                   .options = variant.options,
                                   .scale = scale.data(),
                                   .scale_inv = scale_inv.data()});
    ASSERT_EQ(float_bits(scale_inv), float_bits(expected.scale_inv));
    kernels::quantize_per_tensor_cpu({.input = operand.input,
                                      .format = variant.format,
                                      .scale = scale.data(),
                                      .rowwise = codes.data()});
    ASSERT_EQ(codes, expected.codes);
  }
}

/// Runs one block recipe over every variant; what must not be written still holds the sentinel.
template <typename Quantize>
void expect_block_recipe(const GroupedCase& grouped, Recipe recipe, std::int64_t scales,
                         Quantize quantize) {
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.name());
    const Operand operand(grouped, variant.type, variant.fill);
    const Expected expected = defined_quantization(recipe, operand.input, variant, scales);
    const auto count = static_cast<std::size_t>(scales);
    std::vector<float> scale_inv(count, float_sentinel());
    std::vector<float> amax(count, float_sentinel());
    std::vector<std::uint8_t> codes(expected.codes.size(), kCodeSentinel);
    kernels::QuantizeBlockArgs args{
        .input = operand.input,
        .format = variant.format,
        .options = variant.options,
        .rowwise = {
            .codes = codes.data(), .scale_inv = scale_inv.data(), .block_amax = amax.data()}};
    quantize(args);
    ASSERT_EQ(float_bits(amax), float_bits(expected.amax));
    ASSERT_EQ(float_bits(scale_inv), float_bits(expected.scale_inv));
    ASSERT_EQ(codes, expected.codes);
    args.rowwise.block_amax = nullptr;
    std::fill(codes.begin(), codes.end(), kCodeSentinel);
    quantize(args);
    ASSERT_EQ(codes, expected.codes) << "without amax";
  }
}

std::int64_t capacity_rows(const GroupedCase& grouped) {
  return std::accumulate(grouped.splits.begin(), grouped.splits.end(), grouped.spare_rows);
}

TEST_P(GroupedQuantize, Block1x128) {
  const auto groups = static_cast<int>(GetParam().splits.size());
  expect_block_recipe(
      GetParam(), Recipe::Block1x128,
      kernels::block_line_scale_capacity(capacity_rows(GetParam()), groups, GetParam().columns),
      kernels::quantize_block_lines_cpu);
}

TEST_P(GroupedQuantize, Block128x128) {
  const auto groups = static_cast<int>(GetParam().splits.size());
  expect_block_recipe(
      GetParam(), Recipe::Block128x128,
      kernels::block_square_scale_capacity(capacity_rows(GetParam()), groups, GetParam().columns),
      kernels::quantize_block_squares_cpu);
}

INSTANTIATE_TEST_SUITE_P(Cases, GroupedQuantize, testing::ValuesIn(grouped_cases()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace quantize_tests
