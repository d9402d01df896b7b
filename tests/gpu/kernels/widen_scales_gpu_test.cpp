// Widened scales on the device against the twin: every layout and direction, powers of two with
// and without other numbers among them.
#include "kernels/dequantize/widen_scales.h"

#include <cmath>
#include <random>

#include "tests/gpu/kernels/twin_comparison.h"

namespace gpu_tests {
namespace {

using kernels::Direction;
using kernels::MicroScaleLayout;
using kernels::ScaleLayout;

class WidenScalesGpu : public DeviceTest,
                       public testing::WithParamInterface<quantize_tests::GroupedCase> {};

struct Widening {
  ScaleLayout from;
  int block;
  Direction direction;
  MicroScaleLayout to;
  bool refusals;
};

void compare(const quantize_tests::GroupedCase& grouped, const Widening& widening) {
  SCOPED_TRACE("from " + std::to_string(static_cast<int>(widening.from)) + " block " +
               std::to_string(widening.block) + " direction " +
               std::to_string(static_cast<int>(widening.direction)) + " to " +
               std::to_string(static_cast<int>(widening.to)) + " refusals " +
               std::to_string(widening.refusals));
  std::mt19937 random(11);
  std::vector<std::int64_t> row_offsets = {0};
  for (const std::int64_t rows : grouped.splits) row_offsets.push_back(row_offsets.back() + rows);
  kernels::QuantizedView view{.layout = widening.from,
                              .block = widening.block,
                              .direction = widening.direction,
                              .row_offsets = row_offsets.data(),
                              .num_groups = static_cast<int>(grouped.splits.size()),
                              .capacity_rows = row_offsets.back() + grouped.spare_rows,
                              .columns = grouped.columns};
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  for (const std::int64_t rows : grouped.splits) {
    count += kernels::group_scale_span(view, rows);
    bytes += kernels::micro_scale_bytes(rows, grouped.columns, 32);
  }
  std::vector<float> scales(static_cast<std::size_t>(count));
  for (float& scale : scales) {
    scale = std::ldexp(1.0F, static_cast<int>(random() % 255) - 127);
    if (widening.refusals && random() % 7 == 0) scale *= 1.25F;
  }
  TwinArrays arrays;
  const int offsets = arrays.input(row_offsets);
  const int from = arrays.input(scales);
  const int to = arrays.output(bytes + 16);
  const int refused = arrays.state(std::vector<kernels::RefusedScales>(1));
  const auto args = [&](bool device) {
    kernels::QuantizedView there = view;
    there.scales = arrays.at<void>(from, device);
    there.row_offsets = arrays.at<std::int64_t>(offsets, device);
    return kernels::WidenScalesArgs{.quantized = there,
                                    .layout = widening.to,
                                    .scales = arrays.at<std::uint8_t>(to, device),
                                    .refused = arrays.at<kernels::RefusedScales>(refused, device)};
  };
  for (int launch = 0; launch < 2; ++launch) {  // the second finds what the first reported
    kernels::widen_scales_cpu(args(false));
    ASSERT_EQ(kernels::widen_scales(args(true), nullptr), cudaSuccess);
    arrays.expect_equal();
  }
}

TEST_P(WidenScalesGpu, EqualsItsTwin) {
  for (const ScaleLayout from :
       {ScaleLayout::PerTensor, ScaleLayout::BlockLine, ScaleLayout::BlockSquare}) {
    for (const int block : {32, 64, 128}) {
      for (const Direction direction : {Direction::Rowwise, Direction::Columnwise}) {
        for (const MicroScaleLayout to : {MicroScaleLayout::Compact, MicroScaleLayout::Swizzled}) {
          for (const bool refusals : {false, true}) {
            compare(GetParam(), {from, block, direction, to, refusals});
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, WidenScalesGpu, testing::ValuesIn(quantize_tests::grouped_cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_F(DeviceTest, WidenScalesRefusesWhatItCannotRead) {
  kernels::RefusedScales refused;
  kernels::WidenScalesArgs args{.quantized = {.layout = ScaleLayout::BlockLine,
                                              .num_groups = 1,
                                              .capacity_rows = 1,
                                              .columns = 32},
                                .refused = &refused};
  args.quantized.block = 16;
  EXPECT_EQ(kernels::widen_scales(args, nullptr), cudaErrorInvalidValue);
  args.quantized.block = 128;
  args.quantized.layout = ScaleLayout::Mx1x32;
  EXPECT_EQ(kernels::widen_scales(args, nullptr), cudaErrorInvalidValue);
  args.quantized.layout = ScaleLayout::BlockLine;
  args.scales = reinterpret_cast<std::uint8_t*>(8);
  EXPECT_EQ(kernels::widen_scales(args, nullptr), cudaErrorMisalignedAddress);
  args.scales = nullptr;
  args.refused = nullptr;
  EXPECT_EQ(kernels::widen_scales(args, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace gpu_tests
