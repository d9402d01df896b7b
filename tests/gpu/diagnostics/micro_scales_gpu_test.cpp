// Statistics of MXFP8 and NVFP4 operands on the device against the twin, over any codes and scales.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/dequantize/group_view.h"
#include "kernels/diagnostics/statistics.h"
#include "tests/gpu/diagnostics/equal_counts.h"
#include "tests/gpu/kernels/device_array.h"

namespace gpu_tests {
namespace {

using kernels::InputType;
using kernels::ScaleLayout;

struct Case {
  InputType type = InputType::Bf16;
  ScaleLayout layout = ScaleLayout::Mx1x32;
  kernels::Fp8Format format = kernels::Fp8Format::E4m3;
  kernels::MicroScaleLayout micro = kernels::MicroScaleLayout::Compact;
  std::vector<std::int64_t> splits;
  std::int64_t columns = 0;
};

/// Random bit patterns: codes do not match the elements, scales may be NaN.
struct Arrays {
  explicit Arrays(const Case& tested) : offsets{0} {
    for (const std::int64_t split : tested.splits) offsets.push_back(offsets.back() + split);
    capacity = offsets.back() + 5;
    const bool e2m1 = kernels::is_nvfp4(tested.layout);
    const std::size_t element = tested.type == InputType::Fp32 ? 4 : 2;
    std::mt19937 random(7);
    const auto filled = [&](std::int64_t bytes) {
      std::vector<std::uint8_t> values(static_cast<std::size_t>(bytes));
      for (std::uint8_t& value : values) value = static_cast<std::uint8_t>(random());
      return values;
    };
    input = filled(capacity * tested.columns * static_cast<std::int64_t>(element));
    codes = filled(capacity * tested.columns / (e2m1 ? 2 : 1));
    view = {.format = tested.format,
            .layout = tested.layout,
            .micro_layout = tested.micro,
            .num_groups = static_cast<int>(tested.splits.size()),
            .capacity_rows = capacity,
            .columns = tested.columns};
    std::int64_t scale_bytes = 0;
    for (const std::int64_t split : tested.splits) {
      scale_bytes += kernels::group_scale_span(view, split);
    }
    scales = filled(std::max<std::int64_t>(scale_bytes, 1));
    // Half of them near 1, so that codes and elements meet.
    for (std::size_t i = 0; i < scales.size(); i += 2) {
      scales[i] = static_cast<std::uint8_t>((e2m1 ? 48 : 120) + scales[i] % 16);
    }
    for (std::size_t group = 0; group < tested.splits.size(); ++group) {
      amax.push_back(std::ldexp(1.0F, static_cast<int>(group % 20)));
    }
  }

  std::vector<std::int64_t> offsets;
  std::int64_t capacity = 0;
  std::vector<std::uint8_t> input;
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
  std::vector<float> amax;
  kernels::QuantizedView view;
};

struct Found {
  std::vector<kernels::MagnitudeCounts> before = std::vector<kernels::MagnitudeCounts>(1);
  std::vector<kernels::MagnitudeCounts> after = std::vector<kernels::MagnitudeCounts>(1);
  std::vector<kernels::GroupQuantizationSums> sums;
  std::vector<kernels::MicroLosses> losses;
};

kernels::QuantizationStatisticsArgs arguments(const Case& tested, const Arrays& arrays) {
  return {.input = {.type = tested.type,
                    .num_groups = arrays.view.num_groups,
                    .capacity_rows = arrays.capacity,
                    .columns = tested.columns},
          .quantized = arrays.view};
}

Found on_cpu(const Case& tested, const Arrays& arrays) {
  Found found{.sums = std::vector<kernels::GroupQuantizationSums>(tested.splits.size()),
              .losses = std::vector<kernels::MicroLosses>(arrays.scales.size())};
  kernels::QuantizationStatisticsArgs args = arguments(tested, arrays);
  args.input.input = arrays.input.data();
  args.input.row_offsets = args.quantized.row_offsets = arrays.offsets.data();
  args.quantized.codes = arrays.codes.data();
  args.quantized.scales = arrays.scales.data();
  args.quantized.amax = arrays.amax.data();
  args.before = found.before.data();
  args.after = found.after.data();
  args.sums = found.sums.data();
  args.micro_losses = found.losses.data();
  kernels::quantization_statistics_cpu(args);
  return found;
}

Found on_gpu(const Case& tested, const Arrays& arrays) {
  const DeviceArray<std::uint8_t> input(arrays.input);
  const DeviceArray<std::uint8_t> codes(arrays.codes);
  const DeviceArray<std::uint8_t> scales(arrays.scales);
  const DeviceArray<float> amax(arrays.amax);
  const DeviceArray<std::int64_t> offsets(arrays.offsets);
  const DeviceArray<kernels::MagnitudeCounts> before(std::vector<kernels::MagnitudeCounts>(1));
  const DeviceArray<kernels::MagnitudeCounts> after(std::vector<kernels::MagnitudeCounts>(1));
  const DeviceArray<kernels::GroupQuantizationSums> sums(
      std::vector<kernels::GroupQuantizationSums>(tested.splits.size()));
  const DeviceArray<kernels::MicroLosses> losses(
      std::vector<kernels::MicroLosses>(arrays.scales.size()));
  kernels::QuantizationStatisticsArgs args = arguments(tested, arrays);
  args.input.input = input.get();
  args.input.row_offsets = args.quantized.row_offsets = offsets.get();
  args.quantized.codes = codes.get();
  args.quantized.scales = scales.get();
  args.quantized.amax = amax.get();
  args.before = before.get();
  args.after = after.get();
  args.sums = sums.get();
  args.micro_losses = losses.get();
  EXPECT_EQ(kernels::quantization_statistics(args, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return {.before = before.values(),
          .after = after.values(),
          .sums = sums.values(),
          .losses = losses.values()};
}

void compare(const Case& tested) {
  SCOPED_TRACE("type " + std::to_string(static_cast<int>(tested.type)) + ", layout " +
               std::to_string(static_cast<int>(tested.layout)) + ", groups " +
               std::to_string(tested.splits.size()) + ", columns " +
               std::to_string(tested.columns));
  const Arrays arrays(tested);
  const Found cpu = on_cpu(tested, arrays);
  const Found gpu = on_gpu(tested, arrays);
  expect_equal(gpu.before[0], cpu.before[0]);
  expect_equal(gpu.after[0], cpu.after[0]);
  for (std::size_t g = 0; g < cpu.sums.size(); ++g) {
    EXPECT_NEAR(gpu.sums[g].signal, cpu.sums[g].signal, std::fabs(cpu.sums[g].signal) * 1e-9);
    EXPECT_NEAR(gpu.sums[g].noise, cpu.sums[g].noise, std::fabs(cpu.sums[g].noise) * 1e-9);
    EXPECT_EQ(gpu.sums[g].saturated, cpu.sums[g].saturated) << g;
    EXPECT_EQ(gpu.sums[g].underflowed, cpu.sums[g].underflowed) << g;
    EXPECT_EQ(gpu.sums[g].elements, cpu.sums[g].elements) << g;
    EXPECT_EQ(gpu.sums[g].lost, cpu.sums[g].lost) << g;
    EXPECT_EQ(gpu.sums[g].undefined, cpu.sums[g].undefined) << g;
    EXPECT_EQ(gpu.sums[g].max_ulp, cpu.sums[g].max_ulp) << g;
  }
  for (std::size_t i = 0; i < cpu.losses.size(); ++i) {
    ASSERT_EQ(gpu.losses[i].saturated, cpu.losses[i].saturated) << i;
    ASSERT_EQ(gpu.losses[i].underflowed, cpu.losses[i].underflowed) << i;
  }
}

class MicroStatisticsGpu : public DeviceTest {};

TEST_F(MicroStatisticsGpu, EqualTheTwin) {
  std::vector<std::int64_t> many(1024);
  for (std::size_t g = 0; g < many.size(); ++g) many[g] = static_cast<std::int64_t>(g % 4);
  const std::vector<std::vector<std::int64_t>> routings = {
      {5}, {0, 0}, {0, 3, 0, 131, 1, 0}, {900, 0, 257}, many};
  for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
    for (const ScaleLayout layout : {ScaleLayout::Mx1x32, ScaleLayout::Nv1x16}) {
      for (const std::vector<std::int64_t>& splits : routings) {
        for (const std::int64_t columns : {16, 272, 1040}) {
          const bool odd = columns == 272;
          compare({.type = type,
                   .layout = layout,
                   .format = odd ? kernels::Fp8Format::E5m2 : kernels::Fp8Format::E4m3,
                   .micro = odd ? kernels::MicroScaleLayout::Swizzled
                                : kernels::MicroScaleLayout::Compact,
                   .splits = splits,
                   .columns = columns});
        }
      }
    }
  }
}

TEST_F(MicroStatisticsGpu, OtherViewsAreRefused) {
  const Case tested{.splits = {1}, .columns = 128};
  const Arrays arrays(tested);
  const auto measured = [&](auto change) {
    kernels::QuantizationStatisticsArgs args = arguments(tested, arrays);
    // Nothing is read where nothing may be launched.
    args.input.capacity_rows = 0;
    change(args);
    return kernels::quantization_statistics(args, nullptr);
  };
  using Args = kernels::QuantizationStatisticsArgs;
  kernels::BlockLosses block = {};
  EXPECT_EQ(measured([](Args&) {}), cudaSuccess);
  EXPECT_EQ(measured([](Args& args) { args.quantized.direction = kernels::Direction::Columnwise; }),
            cudaErrorInvalidValue);
  EXPECT_EQ(measured([](Args& args) { args.quantized.hadamard = true; }), cudaErrorInvalidValue);
  EXPECT_EQ(measured([](Args& args) { args.input.activation = kernels::kSwiglu; }),
            cudaErrorInvalidValue);
  EXPECT_EQ(measured([](Args& args) { args.input.columns = 24; }), cudaErrorInvalidValue);
  EXPECT_EQ(measured([&](Args& args) { args.losses = &block; }), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace gpu_tests
