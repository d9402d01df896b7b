// The quantization kernels against their CPU twins, bit for bit, over the same cases. Outputs
// start as sentinels and are compared whole, so a write outside the active rows or into scale
// padding is detected. The spare rows of the input are poisoned: reading one is detected too.
#include <bit>
#include <utility>

#include "kernels/amax/group_amax.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_per_tensor.h"
#include "tests/gpu/kernels/captured_launch.h"
#include "tests/gpu/kernels/device_array.h"
#include "tests/numerics/quantize/grouped_cases.h"

namespace gpu_tests {
namespace {

using kernels::Fp8Format;
using kernels::GroupedInput;
using kernels::InputType;
using quantize_tests::GroupedCase;
using quantize_tests::Operand;
using quantize_tests::Variant;

using Words = std::vector<std::uint32_t>;

/// FP32 outputs travel as bits: sentinels are NaNs.
float* as_floats(Words& words) { return reinterpret_cast<float*>(words.data()); }
float* as_floats(const DeviceArray<std::uint32_t>& words) {
  return reinterpret_cast<float*>(words.get());
}
Words sentinel_words(std::int64_t count) {
  return Words(static_cast<std::size_t>(count), quantize_tests::kFloatSentinel);
}
std::vector<std::uint8_t> sentinel_codes(const GroupedInput& input) {
  return std::vector<std::uint8_t>(static_cast<std::size_t>(input.capacity_rows * input.columns),
                                   quantize_tests::kCodeSentinel);
}

/// An operand's twin in device memory.
struct DeviceOperand {
  explicit DeviceOperand(const Operand& operand)
      : bytes(operand.bytes), row_offsets(operand.row_offsets), input(operand.input) {
    input.input = bytes.get();
    input.row_offsets = row_offsets.get();
  }
  DeviceArray<std::uint8_t> bytes;
  DeviceArray<std::int64_t> row_offsets;
  GroupedInput input;
};

class GroupedQuantizeGpu : public DeviceTest, public testing::WithParamInterface<GroupedCase> {};

TEST_P(GroupedQuantizeGpu, PerTensorEqualsCpu) {
  for (const Variant& variant : quantize_tests::variants()) {
    SCOPED_TRACE(variant.name());
    const Operand operand(GetParam(), variant.type, variant.fill);
    const int groups = operand.input.num_groups;
    Words amax = sentinel_words(groups);
    Words scale = sentinel_words(groups);
    Words scale_inv = sentinel_words(groups);
    std::vector<std::uint8_t> codes = sentinel_codes(operand.input);
    const DeviceOperand device(operand);
    const DeviceArray<std::uint32_t> device_amax(amax);
    const DeviceArray<std::uint32_t> device_scale(scale);
    const DeviceArray<std::uint32_t> device_scale_inv(scale_inv);
    const DeviceArray<std::uint8_t> device_codes(codes);

    kernels::group_amax_cpu({.input = operand.input, .amax = as_floats(amax)});
    ASSERT_EQ(kernels::group_amax({.input = device.input, .amax = as_floats(device_amax)}, nullptr),
              cudaSuccess);
    ASSERT_EQ(device_amax.values(), amax);

    kernels::PerTensorScaleArgs scale_args{.amax = as_floats(amax),
                                           .num_groups = groups,
                                           .format = variant.format,
                                           .options = variant.options,
                                           .scale = as_floats(scale),
                                           .scale_inv = as_floats(scale_inv)};
    kernels::per_tensor_scale_cpu(scale_args);
    scale_args.amax = as_floats(device_amax);
    scale_args.scale = as_floats(device_scale);
    scale_args.scale_inv = as_floats(device_scale_inv);
    ASSERT_EQ(kernels::per_tensor_scale(scale_args, nullptr), cudaSuccess);
    ASSERT_EQ(device_scale.values(), scale);
    ASSERT_EQ(device_scale_inv.values(), scale_inv);

    kernels::quantize_per_tensor_cpu({.input = operand.input,
                                      .format = variant.format,
                                      .scale = as_floats(scale),
                                      .rowwise = codes.data()});
    ASSERT_EQ(kernels::quantize_per_tensor({.input = device.input,
                                            .format = variant.format,
                                            .scale = as_floats(device_scale),
                                            .rowwise = device_codes.get()},
                                           nullptr),
              cudaSuccess);
    ASSERT_EQ(device_codes.values(), codes);
  }
}

template <typename OnCpu, typename OnGpu>
void expect_block_equality(const Operand& operand, const Variant& variant, std::int64_t scales,
                           OnCpu on_cpu, OnGpu on_gpu) {
  Words scale_inv = sentinel_words(scales);
  Words amax = sentinel_words(scales);
  std::vector<std::uint8_t> codes = sentinel_codes(operand.input);
  const DeviceOperand device(operand);
  const DeviceArray<std::uint32_t> device_scale_inv(scale_inv);
  const DeviceArray<std::uint32_t> device_amax(amax);
  const DeviceArray<std::uint8_t> device_codes(codes);
  kernels::QuantizeBlockArgs args{
      .input = operand.input,
      .format = variant.format,
      .options = variant.options,
      .rowwise = {
          .codes = codes.data(), .scale_inv = as_floats(scale_inv), .block_amax = as_floats(amax)}};
  on_cpu(args);
  args.input = device.input;
  args.rowwise = {.codes = device_codes.get(),
                  .scale_inv = as_floats(device_scale_inv),
                  .block_amax = as_floats(device_amax)};
  ASSERT_EQ(on_gpu(args, nullptr), cudaSuccess);
  ASSERT_EQ(device_amax.values(), amax);
  ASSERT_EQ(device_scale_inv.values(), scale_inv);
  ASSERT_EQ(device_codes.values(), codes);
}

TEST_P(GroupedQuantizeGpu, Block1x128EqualsCpu) {
  for (const Variant& variant : quantize_tests::variants()) {
    SCOPED_TRACE(variant.name());
    const Operand operand(GetParam(), variant.type, variant.fill);
    const GroupedInput& input = operand.input;
    expect_block_equality(
        operand, variant,
        kernels::block_line_scale_capacity(input.capacity_rows, input.num_groups, input.columns),
        kernels::quantize_block_lines_cpu, kernels::quantize_block_lines);
    if (HasFatalFailure()) return;
  }
}

TEST_P(GroupedQuantizeGpu, Block128x128EqualsCpu) {
  for (const Variant& variant : quantize_tests::variants()) {
    SCOPED_TRACE(variant.name());
    const Operand operand(GetParam(), variant.type, variant.fill);
    const GroupedInput& input = operand.input;
    expect_block_equality(
        operand, variant,
        kernels::block_square_scale_capacity(input.capacity_rows, input.num_groups, input.columns),
        kernels::quantize_block_squares_cpu, kernels::quantize_block_squares);
    if (HasFatalFailure()) return;
  }
}

std::vector<GroupedCase> cases_for_the_device() {
  std::vector<GroupedCase> cases = quantize_tests::grouped_cases();
  // Large enough that every kernel loops: more work than fits in the resident threads at once.
  cases.push_back(
      {.name = "Looping", .splits = {4000, 0, 3001, 1200}, .spare_rows = 100, .columns = 2064});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, GroupedQuantizeGpu, testing::ValuesIn(cases_for_the_device()),
                         [](const auto& param) { return param.param.name; });

class CastGpu : public DeviceTest {};

TEST_F(CastGpu, EverySixteenBitPatternEqualsCpu) {
  std::vector<std::uint8_t> patterns(65536 * 2);
  for (std::size_t i = 0; i < 65536; ++i) {
    patterns[2 * i] = static_cast<std::uint8_t>(i & 0xFF);
    patterns[2 * i + 1] = static_cast<std::uint8_t>(i >> 8);
  }
  const std::vector<std::int64_t> row_offsets = {0, 256};
  const DeviceArray<std::uint8_t> device_patterns(patterns);
  const DeviceArray<std::int64_t> device_offsets(row_offsets);
  for (const InputType type : {InputType::Bf16, InputType::Fp16}) {
    for (const Fp8Format format : {Fp8Format::E4m3, Fp8Format::E5m2}) {
      for (const float scale : {1.0F, 448.0F / 3.0F, 0.1F, 0x1p127F, 0x1p-127F, 3.4028235e38F}) {
        GroupedInput input{.input = patterns.data(),
                           .type = type,
                           .row_offsets = row_offsets.data(),
                           .num_groups = 1,
                           .capacity_rows = 256,
                           .columns = 256};
        std::vector<std::uint8_t> codes(65536, quantize_tests::kCodeSentinel);
        const DeviceArray<std::uint8_t> device_codes(codes);
        const DeviceArray<float> device_scale({scale});
        kernels::quantize_per_tensor_cpu(
            {.input = input, .format = format, .scale = &scale, .rowwise = codes.data()});
        input.input = device_patterns.get();
        input.row_offsets = device_offsets.get();
        ASSERT_EQ(kernels::quantize_per_tensor({.input = input,
                                                .format = format,
                                                .scale = device_scale.get(),
                                                .rowwise = device_codes.get()},
                                               nullptr),
                  cudaSuccess);
        ASSERT_EQ(device_codes.values(), codes) << "scale " << scale;
      }
    }
  }
}

TEST_F(CastGpu, ReplayedGraphFollowsRowOffsets) {
  const GroupedCase grouped{.name = "", .splits = {40, 60}, .spare_rows = 28, .columns = 256};
  const Operand operand(grouped, InputType::Bf16, quantize_tests::Fill::Mild);
  const DeviceOperand device(operand);
  const Words untouched = sentinel_words(2);
  const DeviceArray<std::uint32_t> amax(untouched);
  const auto launch = [&](cudaStream_t stream) {
    return kernels::group_amax({.input = device.input, .amax = as_floats(amax)}, stream);
  };
  // Once before capture: a kernel's first launch loads its code.
  ASSERT_EQ(launch(nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const CapturedLaunch captured(launch);
  for (const std::int64_t first_group : {std::int64_t{40}, std::int64_t{0}, std::int64_t{99}}) {
    const std::vector<std::int64_t> row_offsets = {0, first_group, 100};
    ASSERT_EQ(cudaMemcpy(device.row_offsets.get(), row_offsets.data(), 3 * sizeof(std::int64_t),
                         cudaMemcpyHostToDevice),
              cudaSuccess);
    captured.replay();
    Words expected = sentinel_words(2);
    GroupedInput input = operand.input;
    input.row_offsets = row_offsets.data();
    kernels::group_amax_cpu({.input = input, .amax = as_floats(expected)});
    EXPECT_EQ(amax.values(), expected) << "first group of " << first_group;
  }
}

// These need no device: operands are refused before anything is launched.
TEST(LauncherChecks, RefuseOperandsThatKernelsCannotAddress) {
  GroupedInput input{.num_groups = 1, .capacity_rows = 4, .columns = 24};
  EXPECT_EQ(kernels::group_amax({.input = input}, nullptr), cudaErrorInvalidValue);
  input.columns = 32;
  input.input = reinterpret_cast<const void*>(std::uintptr_t{8});
  EXPECT_EQ(kernels::group_amax({.input = input}, nullptr), cudaErrorMisalignedAddress);
  EXPECT_EQ(kernels::quantize_block_lines({.input = input}, nullptr), cudaErrorMisalignedAddress);
  EXPECT_EQ(kernels::quantize_block_squares({.input = input}, nullptr), cudaErrorMisalignedAddress);
  input.input = nullptr;
  input.num_groups = 1025;
  EXPECT_EQ(kernels::quantize_per_tensor({.input = input}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(kernels::per_tensor_scale({.num_groups = 1025}, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace gpu_tests
