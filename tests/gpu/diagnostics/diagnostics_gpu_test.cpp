// The diagnostics kernels match their CPU twins: counts and checksums exactly, FP64 sums up to
// their order.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <tuple>

#include "kernels/diagnostics/channel_statistics.h"
#include "kernels/diagnostics/statistics.h"
#include "tests/gpu/diagnostics/equal_counts.h"
#include "tests/gpu/kernels/device_array.h"
#include "tests/numerics/diagnostics/operand.h"

namespace {

using kernels::Fp8Format;
using kernels::InputType;
using kernels::ScaleLayout;

using DiagnosticsGpu = gpu_tests::DeviceTest;
using gpu_tests::DeviceArray;

/// Routings that have broken such kernels: one group, empty ones everywhere, more groups than
/// thread blocks, groups smaller than a block's share.
std::vector<std::vector<std::int64_t>> routings() {
  std::vector<std::int64_t> many(1024);
  for (std::size_t g = 0; g < many.size(); ++g) many[g] = static_cast<std::int64_t>(g % 4);
  std::vector<std::int64_t> one_of_many(1024, 0);
  one_of_many[777] = 700;
  return {{5}, {0, 0, 0}, {0, 3, 0, 0, 131, 1, 0}, {2000, 0, 257, 640}, many, one_of_many};
}

struct Statistics {
  std::vector<kernels::MagnitudeCounts> before;
  std::vector<kernels::MagnitudeCounts> after;
  std::vector<kernels::GroupQuantizationSums> sums;
  std::vector<kernels::BlockLosses> losses = {};  // laid out as the scales
  std::vector<kernels::ChannelSums> columns = {};
  std::vector<kernels::ChannelSums> rows = {};
};

Statistics on_cpu(const tests::Operand& operand, bool quantized) {
  Statistics result{
      .before = std::vector<kernels::MagnitudeCounts>(1),
      .after = std::vector<kernels::MagnitudeCounts>(1),
      .sums = std::vector<kernels::GroupQuantizationSums>(operand.row_offsets.size() - 1),
      .losses = std::vector<kernels::BlockLosses>(operand.scale_inv.size()),
      .columns = std::vector<kernels::ChannelSums>(static_cast<std::size_t>(operand.columns)),
      .rows = std::vector<kernels::ChannelSums>(static_cast<std::size_t>(operand.capacity_rows))};
  kernels::QuantizationStatisticsArgs args = tests::statistics_args(operand);
  if (!quantized) args.quantized = {};
  args.before = result.before.data();
  args.after = result.after.data();
  args.sums = result.sums.data();
  args.losses = result.losses.data();
  args.columns = result.columns.data();
  args.rows = result.rows.data();
  kernels::quantization_statistics_cpu(args);
  return result;
}

Statistics on_gpu(const tests::Operand& operand, bool quantized) {
  const DeviceArray<std::uint16_t> words(operand.words);
  const DeviceArray<float> floats(operand.floats);
  const DeviceArray<std::int64_t> row_offsets(operand.row_offsets);
  const DeviceArray<std::uint8_t> codes(operand.codes);
  const DeviceArray<float> scale_inv(operand.scale_inv);
  const DeviceArray<kernels::MagnitudeCounts> before(std::vector<kernels::MagnitudeCounts>(1));
  const DeviceArray<kernels::MagnitudeCounts> after(std::vector<kernels::MagnitudeCounts>(1));
  const DeviceArray<kernels::GroupQuantizationSums> sums(
      std::vector<kernels::GroupQuantizationSums>(operand.row_offsets.size() - 1));
  const DeviceArray<kernels::BlockLosses> losses(
      std::vector<kernels::BlockLosses>(operand.scale_inv.size()));
  const DeviceArray<kernels::ChannelSums> columns(
      std::vector<kernels::ChannelSums>(static_cast<std::size_t>(operand.columns)));
  const DeviceArray<kernels::ChannelSums> rows(
      std::vector<kernels::ChannelSums>(static_cast<std::size_t>(operand.capacity_rows)));
  kernels::QuantizationStatisticsArgs args = tests::statistics_args(operand);
  args.input.input = operand.type == InputType::Fp32 ? static_cast<const void*>(floats.get())
                                                     : static_cast<const void*>(words.get());
  args.input.row_offsets = row_offsets.get();
  args.quantized.codes = codes.get();
  args.quantized.scales = scale_inv.get();
  args.quantized.row_offsets = row_offsets.get();
  if (!quantized) args.quantized = {};
  args.before = before.get();
  args.after = after.get();
  args.sums = sums.get();
  args.losses = losses.get();
  args.columns = columns.get();
  args.rows = rows.get();
  EXPECT_EQ(kernels::quantization_statistics(args, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return {.before = before.values(),
          .after = after.values(),
          .sums = sums.values(),
          .losses = losses.values(),
          .columns = columns.values(),
          .rows = rows.values()};
}

void expect_close(double gpu, double cpu) { EXPECT_NEAR(gpu, cpu, std::fabs(cpu) * 1e-9); }

TEST_F(DiagnosticsGpu, QuantizationStatisticsEqualTheTwin) {
  for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
    for (const ScaleLayout layout :
         {ScaleLayout::PerTensor, ScaleLayout::BlockLine, ScaleLayout::BlockSquare}) {
      for (const std::vector<std::int64_t>& splits : routings()) {
        for (const std::int64_t columns : {16, 272, 4240}) {
          SCOPED_TRACE("type " + std::to_string(static_cast<int>(type)) + ", layout " +
                       std::to_string(static_cast<int>(layout)) + ", groups " +
                       std::to_string(splits.size()) + ", columns " + std::to_string(columns));
          const Fp8Format format = columns == 272 ? Fp8Format::E5m2 : Fp8Format::E4m3;
          const tests::Operand operand = tests::make_operand({.type = type,
                                                              .format = format,
                                                              .layout = layout,
                                                              .splits = splits,
                                                              .columns = columns});
          const bool quantized = columns != 16 || layout != ScaleLayout::PerTensor;
          const Statistics cpu = on_cpu(operand, quantized);
          const Statistics gpu = on_gpu(operand, quantized);
          gpu_tests::expect_equal(gpu.before[0], cpu.before[0]);
          gpu_tests::expect_equal(gpu.after[0], cpu.after[0]);
          for (std::size_t g = 0; g < cpu.sums.size(); ++g) {
            expect_close(gpu.sums[g].signal, cpu.sums[g].signal);
            expect_close(gpu.sums[g].noise, cpu.sums[g].noise);
            EXPECT_EQ(gpu.sums[g].saturated, cpu.sums[g].saturated) << g;
            EXPECT_EQ(gpu.sums[g].underflowed, cpu.sums[g].underflowed) << g;
            EXPECT_EQ(gpu.sums[g].elements, cpu.sums[g].elements) << g;
            EXPECT_EQ(gpu.sums[g].lost, cpu.sums[g].lost) << g;
            EXPECT_EQ(gpu.sums[g].undefined, cpu.sums[g].undefined) << g;
            EXPECT_EQ(gpu.sums[g].max_ulp, cpu.sums[g].max_ulp) << g;
          }
          ASSERT_EQ(gpu.losses.size(), cpu.losses.size());
          for (std::size_t i = 0; i < cpu.losses.size(); ++i) {
            ASSERT_EQ(gpu.losses[i].saturated, cpu.losses[i].saturated) << i;
            ASSERT_EQ(gpu.losses[i].underflowed, cpu.losses[i].underflowed) << i;
          }
          for (std::size_t i = 0; i < cpu.columns.size(); ++i) {
            ASSERT_EQ(gpu.columns[i].saturated, cpu.columns[i].saturated) << i;
          }
          for (std::size_t i = 0; i < cpu.rows.size(); ++i) {
            ASSERT_EQ(gpu.rows[i].saturated, cpu.rows[i].saturated) << i;
          }
        }
      }
    }
  }
}

TEST_F(DiagnosticsGpu, ProductErrorEqualsTheTwin) {
  for (const std::vector<std::int64_t>& splits : routings()) {
    SCOPED_TRACE(splits.size());
    const tests::Operand product = tests::make_operand({.splits = splits, .columns = 1040});
    const tests::Operand reference = tests::make_operand(
        {.type = InputType::Fp32, .splits = splits, .columns = 1040, .seed = 2});
    std::vector<kernels::GroupProductError> cpu(splits.size());
    kernels::ProductErrorArgs args{.product = product.words.data(),
                                   .reference = reference.floats.data(),
                                   .row_offsets = product.row_offsets.data(),
                                   .num_groups = product.num_groups(),
                                   .capacity_rows = product.capacity_rows,
                                   .columns = product.columns,
                                   .errors = cpu.data()};
    kernels::product_error_cpu(args);
    const DeviceArray<std::uint16_t> words(product.words);
    const DeviceArray<float> floats(reference.floats);
    const DeviceArray<std::int64_t> row_offsets(product.row_offsets);
    const DeviceArray<kernels::GroupProductError> errors(
        std::vector<kernels::GroupProductError>(splits.size()));
    args.product = words.get();
    args.reference = floats.get();
    args.row_offsets = row_offsets.get();
    args.errors = errors.get();
    ASSERT_EQ(kernels::product_error(args, nullptr), cudaSuccess);
    const std::vector<kernels::GroupProductError> gpu = errors.values();
    for (std::size_t g = 0; g < cpu.size(); ++g) {
      expect_close(gpu[g].reference_squares, cpu[g].reference_squares);
      expect_close(gpu[g].error_squares, cpu[g].error_squares);
      EXPECT_EQ(gpu[g].max_abs_error, cpu[g].max_abs_error) << g;
      EXPECT_EQ(gpu[g].elements, cpu[g].elements) << g;
      EXPECT_EQ(gpu[g].lost, cpu[g].lost) << g;
      EXPECT_EQ(gpu[g].undefined, cpu[g].undefined) << g;
    }
  }
}

TEST_F(DiagnosticsGpu, ChecksumEqualsTheTwin) {
  for (const std::vector<std::int64_t>& splits : routings()) {
    SCOPED_TRACE(splits.size());
    const tests::Operand operand = tests::make_operand({.splits = splits, .columns = 272});
    std::vector<std::uint64_t> cpu(splits.size(), 0);
    kernels::GroupChecksumArgs args{.values = operand.words.data(),
                                    .row_offsets = operand.row_offsets.data(),
                                    .num_groups = operand.num_groups(),
                                    .capacity_rows = operand.capacity_rows,
                                    .columns = operand.columns,
                                    .checksums = cpu.data()};
    kernels::group_checksum_cpu(args);
    const DeviceArray<std::uint16_t> words(operand.words);
    const DeviceArray<std::int64_t> row_offsets(operand.row_offsets);
    const DeviceArray<std::uint64_t> checksums(std::vector<std::uint64_t>(splits.size(), 0));
    args.values = words.get();
    args.row_offsets = row_offsets.get();
    args.checksums = checksums.get();
    ASSERT_EQ(kernels::group_checksum(args, nullptr), cudaSuccess);
    EXPECT_EQ(checksums.values(), cpu);
  }
}

TEST_F(DiagnosticsGpu, UnalignedOrOddOperandsAreRefused) {
  const std::int64_t* offsets = nullptr;
  const void* unaligned = reinterpret_cast<const void*>(std::uintptr_t{2});
  EXPECT_EQ(kernels::group_checksum({.values = unaligned,
                                     .row_offsets = offsets,
                                     .num_groups = 1,
                                     .capacity_rows = 1,
                                     .columns = 16},
                                    nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(
      kernels::group_checksum(
          {.row_offsets = offsets, .num_groups = 1, .capacity_rows = 1, .columns = 12}, nullptr),
      cudaErrorInvalidValue);
}

/// Every bit: sums have a defined order.
TEST_F(DiagnosticsGpu, ChannelStatisticsEqualTheTwinBitForBit) {
  for (const InputType type : {InputType::Bf16, InputType::Fp16, InputType::Fp32}) {
    for (const std::vector<std::int64_t>& splits : routings()) {
      for (const std::int64_t columns : {16, 272, 4240}) {
        for (const bool exact : {false, true}) {
          SCOPED_TRACE("type " + std::to_string(static_cast<int>(type)) + ", groups " +
                       std::to_string(splits.size()) + ", columns " + std::to_string(columns) +
                       (exact ? ", exact" : ""));
          // Infinities, NaN, subnormals; some blocks of zeros and some that come back exactly. Rows
          // behind the groups are not counted.
          const tests::Operand operand =
              tests::make_operand({.type = type, .splits = splits, .columns = columns});
          std::mt19937 random(static_cast<unsigned>(operand.capacity_rows));
          std::vector<float> decoded(
              static_cast<std::size_t>(operand.capacity_rows * operand.columns));
          for (std::size_t i = 0; i < decoded.size(); ++i) {
            const auto x = static_cast<float>(tests::input_value(operand, i));
            decoded[i] = i / 64 % 5 == 0   ? x
                         : i / 64 % 7 == 0 ? 0.0F
                         : i % 1001 == 0   ? std::numeric_limits<float>::infinity()
                                         : x * (1.0F + 0x1p-6F * static_cast<float>(random() % 64));
          }
          kernels::ChannelStatisticsArgs args{.input = tests::statistics_args(operand).input,
                                              .decoded = exact ? nullptr : decoded.data(),
                                              .first_row = 3};
          std::vector<kernels::ChannelSums> cpu_columns(static_cast<std::size_t>(columns));
          std::vector<kernels::ChannelSums> cpu_rows(
              static_cast<std::size_t>(operand.capacity_rows));
          std::vector<std::uint64_t> cpu_blocks(kernels::kBlockErrorBins);
          const DeviceArray<kernels::ChannelSums> gpu_columns(cpu_columns);
          const DeviceArray<kernels::ChannelSums> gpu_rows(cpu_rows);
          const DeviceArray<std::uint64_t> gpu_blocks(cpu_blocks);
          args.columns = cpu_columns.data();
          args.rows = cpu_rows.data();
          args.block_counts = cpu_blocks.data();
          kernels::channel_statistics_cpu(args);
          const DeviceArray<std::uint16_t> words(operand.words);
          const DeviceArray<float> floats(operand.floats);
          const DeviceArray<float> device_decoded(decoded);
          const DeviceArray<std::int64_t> offsets(operand.row_offsets);
          const DeviceArray<std::uint8_t> scratch(
              std::vector<std::uint8_t>(static_cast<std::size_t>(kernels::channel_scratch_bytes(
                                            operand.capacity_rows, operand.num_groups(), columns)),
                                        0xFF));
          args.input.input = type == InputType::Fp32 ? static_cast<const void*>(floats.get())
                                                     : static_cast<const void*>(words.get());
          args.input.row_offsets = offsets.get();
          args.decoded = exact ? nullptr : device_decoded.get();
          args.columns = gpu_columns.get();
          args.rows = gpu_rows.get();
          args.block_counts = gpu_blocks.get();
          args.scratch = scratch.get();
          ASSERT_EQ(kernels::channel_statistics(args, nullptr), cudaSuccess);
          const auto expect_same = [](const auto& gpu, const auto& cpu, const char* axis) {
            for (std::size_t i = 0; i < cpu.size(); ++i) {
              ASSERT_EQ(std::memcmp(&gpu[i], &cpu[i], sizeof cpu[i]), 0)
                  << axis << " " << i << ": signal " << gpu[i].signal << " and " << cpu[i].signal
                  << ", noise " << gpu[i].noise << " and " << cpu[i].noise << ", largest "
                  << gpu[i].largest << " and " << cpu[i].largest;
            }
          };
          expect_same(gpu_columns.values(), cpu_columns, "column");
          expect_same(gpu_rows.values(), cpu_rows, "row");
          ASSERT_EQ(gpu_blocks.values(), cpu_blocks);
        }
      }
    }
  }
}

}  // namespace
