// Dequantize on the device against its twin: every layout and direction, arbitrary codes and
// scales, the bits of the output and what must stay unwritten.
#include "kernels/dequantize/dequantize.h"

#include <bit>
#include <cmath>
#include <random>

#include "kernels/dequantize/group_view.h"
#include "kernels/dequantize/narrow.h"
#include "kernels/dequantize/widen.h"
#include "tests/gpu/kernels/twin_comparison.h"

namespace gpu_tests {
namespace {

using kernels::Direction;
using kernels::InputType;
using kernels::ScaleLayout;

class DequantizeGpu : public DeviceTest,
                      public testing::WithParamInterface<quantize_tests::GroupedCase> {};

/// Offsets of codes that were padded while the output is not.
std::vector<std::int64_t> padded_offsets(const std::vector<std::int64_t>& splits) {
  std::vector<std::int64_t> offsets = {0};
  for (std::size_t g = 0; g < splits.size(); ++g) {
    const std::int64_t more = g % 3 == 1 ? 129 : 0;
    offsets.push_back(offsets.back() + kernels::round_up(splits[g], 16) + more);
  }
  return offsets;
}

std::vector<std::uint8_t> random_bytes(std::int64_t count, std::mt19937& random) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

struct Encoded {
  ScaleLayout layout;
  Direction direction;
  bool swizzled = false;
  bool hadamard = false;
  bool padded = false;
  InputType type = InputType::Bf16;
  std::string name() const {
    return "layout " + std::to_string(static_cast<int>(layout)) +
           (direction == Direction::Columnwise ? " columnwise" : " rowwise") +
           (swizzled ? " swizzled" : "") + (hadamard ? " hadamard" : "") +
           (padded ? " padded" : "") + " type " + std::to_string(static_cast<int>(type));
  }
};

void compare(const quantize_tests::GroupedCase& grouped, const Encoded& encoded) {
  SCOPED_TRACE(encoded.name());
  std::mt19937 random(7);
  std::vector<std::int64_t> plain = {0};
  for (const std::int64_t rows : grouped.splits) plain.push_back(plain.back() + rows);
  const std::vector<std::int64_t> code_rows =
      encoded.padded ? padded_offsets(grouped.splits) : plain;
  const auto groups = static_cast<int>(grouped.splits.size());
  TwinArrays arrays;
  const int code_offsets = arrays.input(code_rows);
  const int plain_offsets = arrays.input(plain);
  const std::int64_t capacity = code_rows.back() + grouped.spare_rows;
  kernels::QuantizedView view{
      .format = encoded.swizzled ? kernels::Fp8Format::E5m2 : kernels::Fp8Format::E4m3,
      .layout = encoded.layout,
      .direction = encoded.direction,
      .micro_layout = encoded.swizzled ? kernels::MicroScaleLayout::Swizzled
                                       : kernels::MicroScaleLayout::Compact,
      .hadamard = encoded.hadamard,
      .num_groups = groups,
      .capacity_rows = capacity,
      .columns = grouped.columns};
  std::int64_t code_bytes = 0;
  std::int64_t scale_count = 0;
  for (std::size_t g = 0; g < grouped.splits.size(); ++g) {
    code_bytes += kernels::group_code_bytes(view, code_rows[g + 1] - code_rows[g]);
    scale_count += kernels::group_scale_span(view, code_rows[g + 1] - code_rows[g]);
  }
  const bool bytes = kernels::is_mxfp8(encoded.layout) || kernels::is_nvfp4(encoded.layout);
  const int codes = arrays.input(random_bytes(code_bytes, random));
  std::vector<float> floats(static_cast<std::size_t>(scale_count));
  for (float& scale : floats) {
    scale = std::ldexp(1.0F + static_cast<float>(random() % 4096) / 4096.0F,
                       static_cast<int>(random() % 270) - 149);
  }
  const int scales = bytes ? arrays.input(random_bytes(scale_count, random)) : arrays.input(floats);
  std::vector<float> amaxes(static_cast<std::size_t>(groups));
  for (float& amax : amaxes) amax = static_cast<float>(random() % 1000) * 0.37F;
  const int amax = arrays.input(amaxes);
  const std::int64_t output_rows = plain.back() + 5;
  const int output =
      arrays.output(output_rows * grouped.columns * (encoded.type == InputType::Fp32 ? 4 : 2));
  const auto args = [&](bool device) {
    kernels::QuantizedView there = view;
    there.codes = arrays.at<std::uint8_t>(codes, device);
    there.scales = arrays.at<void>(scales, device);
    there.amax = arrays.at<float>(amax, device);
    there.row_offsets = arrays.at<std::int64_t>(code_offsets, device);
    return kernels::DequantizeArgs{
        .quantized = there,
        .row_offsets = encoded.padded ? arrays.at<std::int64_t>(plain_offsets, device) : nullptr,
        .output = arrays.at<void>(output, device),
        .output_type = encoded.type};
  };
  kernels::dequantize_cpu(args(false));
  ASSERT_EQ(kernels::dequantize(args(true), nullptr), cudaSuccess);
  arrays.expect_equal();
}

TEST_P(DequantizeGpu, EqualsItsTwin) {
  for (const ScaleLayout layout :
       {ScaleLayout::PerTensor, ScaleLayout::BlockLine, ScaleLayout::BlockSquare,
        ScaleLayout::Mx1x32, ScaleLayout::Mx32x32, ScaleLayout::Nv1x16, ScaleLayout::Nv16x16}) {
    for (const Direction direction : {Direction::Rowwise, Direction::Columnwise}) {
      for (const bool swizzled : {false, true}) {
        for (const bool padded : {false, true}) {
          for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
            const bool transformed = layout == ScaleLayout::Nv1x16 &&
                                     direction == Direction::Columnwise && type != InputType::Fp16;
            compare(GetParam(), {.layout = layout,
                                 .direction = direction,
                                 .swizzled = swizzled,
                                 .hadamard = transformed,
                                 .padded = padded,
                                 .type = type});
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, DequantizeGpu, testing::ValuesIn(quantize_tests::grouped_cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_F(DeviceTest, DequantizeRefusesOperandsItCannotAddress) {
  kernels::DequantizeArgs args{.quantized = {.num_groups = 1, .capacity_rows = 1, .columns = 24}};
  EXPECT_EQ(kernels::dequantize(args, nullptr), cudaErrorInvalidValue);
  args.quantized.columns = 32;
  args.quantized.num_groups = 1025;
  EXPECT_EQ(kernels::dequantize(args, nullptr), cudaErrorInvalidValue);
  args.quantized.num_groups = 1;
  args.output = reinterpret_cast<void*>(8);
  EXPECT_EQ(kernels::dequantize(args, nullptr), cudaErrorMisalignedAddress);
}

class WidenGpu : public DeviceTest {};

TEST_F(WidenGpu, EveryPatternOfBothTypesMatchesTheTwin) {
  std::vector<std::uint16_t> patterns(std::size_t{1} << 16);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
  const DeviceArray<std::uint16_t> narrow(patterns);
  for (const InputType type : {InputType::Bf16, InputType::Fp16}) {
    std::vector<float> expected(patterns.size());
    kernels::widen_cpu({.input = patterns.data(),
                        .type = type,
                        .output = expected.data(),
                        .count = static_cast<std::int64_t>(patterns.size())});
    const DeviceArray<float> wide(std::vector<float>(patterns.size(), -1.0F));
    ASSERT_EQ(kernels::widen({.input = narrow.get(),
                              .type = type,
                              .output = wide.get(),
                              .count = static_cast<std::int64_t>(patterns.size())},
                             nullptr),
              cudaSuccess);
    const std::vector<float> made = wide.values();
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (std::isnan(expected[i])) {
        ASSERT_TRUE(std::isnan(made[i])) << i;
      } else {
        ASSERT_EQ(made[i], expected[i]) << i;
      }
    }
  }
  EXPECT_EQ(kernels::widen({.input = narrow.get(), .type = InputType::Fp32, .count = 8}, nullptr),
            cudaErrorInvalidValue);
}

class NarrowGpu : public DeviceTest {};

TEST_F(NarrowGpu, TiesLimitsAndSpecialValuesMatchTheTwin) {
  // Around every BF16 value and halfway to the next, which covers FP16's grid with its subnormals
  // and its overflow too.
  std::vector<float> values;
  for (std::uint32_t high = 0; high < 0x10000U; ++high) {
    for (const std::uint32_t low : {0U, 0x1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      values.push_back(std::bit_cast<float>(high << 16 | low));
    }
    // FP16's last bits are finer than BF16's.
    for (const std::uint32_t low : {0x0FFFU, 0x1000U, 0x1001U, 0x2000U, 0x3000U}) {
      values.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  values.resize(values.size() / 8 * 8);
  const DeviceArray<float> wide(values);
  for (const InputType type : {InputType::Bf16, InputType::Fp16}) {
    std::vector<std::uint16_t> expected(values.size());
    kernels::narrow_cpu({.input = values.data(),
                         .output = expected.data(),
                         .type = type,
                         .count = static_cast<std::int64_t>(values.size())});
    const DeviceArray<std::uint16_t> rounded(std::vector<std::uint16_t>(values.size(), 0xABCD));
    ASSERT_EQ(kernels::narrow({.input = wide.get(),
                               .output = rounded.get(),
                               .type = type,
                               .count = static_cast<std::int64_t>(values.size())},
                              nullptr),
              cudaSuccess);
    ASSERT_EQ(rounded.values(), expected);
  }
  EXPECT_EQ(kernels::narrow({.input = wide.get(), .type = InputType::Fp32, .count = 8}, nullptr),
            cudaErrorInvalidValue);
}

}  // namespace
}  // namespace gpu_tests
