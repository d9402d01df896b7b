// A comparison on the device reports the same as the CPU twins' codes, and times its launches
// interleaved with copies.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "engine/backend/cuda/recipe_comparison.h"
#include "engine/device/allocation_ledger.h"
#include "engine/device/handles.h"
#include "engine/input/routing.h"
#include "engine/quantize/operand_numerics.h"
#include "engine/quantize/quantize_cpu.h"
#include "engine/quantize/quantize_cuda.h"

namespace engine {
namespace {

class DeviceComparisonTest : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      GTEST_SKIP() << "no CUDA device";
    }
    Result<Stream> made = make_stream();
    ASSERT_TRUE(made.ok()) << made.error().message;
    stream_ = std::move(made).value();
  }

  Result<RecipeComparison> compare(const ComparisonRequest& request) {
    return compare_on_cuda(request, DeviceFacts(), operands_, stream_.get(),
                           {.progress = progress_, .observer = observer_});
  }

  static ComparisonRequest small(bool weights) {
    ComparisonRequest request;
    request.request.shape = {.preset = "", .num_experts = 5, .rows = 1000, .n = 144, .k = 272};
    request.request.routing.distribution = RoutingDistribution::HalfEmpty;
    request.request.activations = SyntheticInput{.distribution = Distribution::NonFinite};
    request.request.weights = SyntheticInput{.distribution = Distribution::HeavyTailed};
    request.weights = weights;
    request.timed_launches = 3;
    return request;
  }

  Stream stream_;
  DeviceOperands operands_;
  RunProgress progress_;
  StepObserver observer_;
};

/// The same report through the CPU twin.
QuantizationReport twin_report(const ComparisonRequest& request, const Recipe& recipe,
                               kernels::Direction direction,
                               const std::vector<std::int64_t>& splits) {
  const OperandRole role = request.weights ? OperandRole::Weights : OperandRole::Activations;
  const auto source = open_source(request.request, role, 0);
  std::vector<std::int64_t> rows = splits;
  if (request.weights) rows.assign(rows.size(), request.request.shape.n);
  std::vector<std::int64_t> offsets = {0};
  for (const std::int64_t count : rows) offsets.push_back(offsets.back() + count);
  const std::int64_t columns = request.request.shape.k;
  std::vector<std::uint16_t> values(static_cast<std::size_t>(offsets.back() * columns));
  source.value()->read_bf16(0, offsets.back(), values);
  CpuQuantizer quantizer({.recipe = recipe,
                          .role = role,
                          .direction = direction,
                          .input = {.input = values.data(),
                                    .row_offsets = offsets.data(),
                                    .num_groups = static_cast<int>(rows.size()),
                                    .capacity_rows = offsets.back(),
                                    .columns = columns}});
  quantizer.quantize();
  // As a comparison does it: the first step of delayed scaling has no history.
  if (recipe.scaling == Scaling::PerTensorDelayed) quantizer.quantize();
  const kernels::GroupedInput input{.input = values.data(),
                                    .row_offsets = offsets.data(),
                                    .num_groups = static_cast<int>(rows.size()),
                                    .capacity_rows = offsets.back(),
                                    .columns = columns};
  UnpackedOperand unpacked;
  unpack_operand(quantizer.view(), unpacked);
  QuantizationReport report;
  measure_report(input, quantizer.layout(), quantizer.view(), rows, unpacked,
                 quantizer.amax().data(), report);
  report.sample = sample_operand(input, unpacked, request.sample_row, request.sample_column);
  return report;
}

TEST_F(DeviceComparisonTest, EqualsTheTwins) {
  for (const bool weights : {false, true}) {
    const ComparisonRequest request = small(weights);
    const auto comparison = compare(request);
    ASSERT_TRUE(comparison.ok()) << comparison.error().message;
    int ran = 0;
    for (const QuantizationReport& report : comparison.value().reports) {
      if (!report.refused.empty()) continue;
      ++ran;
      ASSERT_EQ(report.times_ns.size(), 3U);
      const auto direction =
          report.columnwise ? kernels::Direction::Columnwise : kernels::Direction::Rowwise;
      const QuantizationReport expected =
          twin_report(request, report.recipe, direction, comparison.value().splits);
      EXPECT_EQ(report.code_counts, expected.code_counts);
      EXPECT_EQ(report.sample.codes, expected.sample.codes);
      EXPECT_EQ(report.statistics.amax.counts, expected.statistics.amax.counts);
      EXPECT_EQ(report.statistics.scale.counts, expected.statistics.scale.counts);
      EXPECT_EQ(report.statistics.saturated, expected.statistics.saturated);
      const double snr_db = expected.statistics.snr_db;
      if (std::isnan(snr_db)) {
        EXPECT_TRUE(std::isnan(report.statistics.snr_db)) << "every element is lost";
      } else {
        EXPECT_EQ(report.statistics.snr_db, snr_db);
      }
      EXPECT_EQ(report.max_ulp, expected.max_ulp);
      for (const std::int64_t time : report.times_ns) EXPECT_GT(time, 0);
    }
    EXPECT_GE(ran, 3);
    EXPECT_EQ(comparison.value().copy_times_ns.size(), static_cast<std::size_t>(3 * ran));
    EXPECT_EQ(progress_.fraction.load(), 1.0);
  }
}

/// The statistics of a run, whose operands are never copied to the host.
TEST_F(DeviceComparisonTest, MicroStatisticsOnTheDeviceEqualTheTwins) {
  ComparisonRequest request = small(false);
  request.request.activations = SyntheticInput{.distribution = Distribution::HeavyTailed};
  const std::vector<std::int64_t> splits = {0, 300, 0, 641, 59};
  std::vector<std::int64_t> offsets = {0};
  for (const std::int64_t rows : splits) offsets.push_back(offsets.back() + rows);
  const std::int64_t columns = request.request.shape.k;
  std::vector<std::uint16_t> values(static_cast<std::size_t>(offsets.back() * columns));
  open_source(request.request, OperandRole::Activations, 0)
      .value()
      ->read_bf16(0, offsets.back(), values);
  const auto on_device = [&](const auto& host) {
    const auto bytes = static_cast<std::int64_t>(host.size() * sizeof(host[0]));
    DeviceBuffer buffer = DeviceBuffer::allocate(bytes, {}).value();
    EXPECT_EQ(cudaMemcpy(buffer.data(), host.data(), static_cast<std::size_t>(bytes),
                         cudaMemcpyHostToDevice),
              cudaSuccess);
    return buffer;
  };
  const DeviceBuffer input = on_device(values);
  const DeviceBuffer row_offsets = on_device(offsets);
  for (const Scaling scaling : {Scaling::Mxfp8, Scaling::Nvfp4}) {
    const Recipe recipe{.scaling = scaling};
    const auto found = measure_on_device(recipe, OperandRole::Activations,
                                         {.input = input.data(),
                                          .row_offsets = row_offsets.as<std::int64_t>(),
                                          .num_groups = static_cast<int>(splits.size()),
                                          .capacity_rows = offsets.back(),
                                          .columns = columns},
                                         splits, stream_.get());
    ASSERT_TRUE(found.ok()) << found.error().message;
    const OperandStatistics& have = found.value().statistics;
    const OperandStatistics want =
        twin_report(request, recipe, kernels::Direction::Rowwise, splits).statistics;
    EXPECT_EQ(have.before.counts, want.before.counts);
    EXPECT_EQ(have.after.counts, want.after.counts);
    EXPECT_EQ(have.scale.counts, want.scale.counts);
    EXPECT_EQ(have.saturated, want.saturated);
    EXPECT_EQ(have.underflowed, want.underflowed);
    EXPECT_EQ(have.elements, want.elements);
    EXPECT_NEAR(have.snr_db, want.snr_db, 1e-9);
    EXPECT_EQ(have.scale_map.source_rows, want.scale_map.source_rows);
    EXPECT_EQ(have.scale_map.underflowed_share, want.scale_map.underflowed_share);
    // A group's amax is one of NVFP4's scales; MXFP8 keeps none.
    if (scaling == Scaling::Nvfp4) {
      EXPECT_EQ(have.amax.counts, want.amax.counts);
    }
    EXPECT_EQ(have.amax.counts.empty(), scaling == Scaling::Mxfp8);
  }
}

/// A run without enough memory is refused before it starts: its demand must be known.
TEST_F(DeviceComparisonTest, MeasuringAllocatesNoMoreThanStated) {
  constexpr std::int64_t kRows = 8192;
  constexpr std::int64_t kColumns = 2048;
  constexpr std::int64_t kRounding = 4096;  // no buffer is smaller than 256 bytes
  const DeviceBuffer input = DeviceBuffer::allocate(kRows * kColumns * 2, {}).value();
  const DeviceBuffer row_offsets = DeviceBuffer::allocate(16, {}).value();
  const std::vector<std::int64_t> offsets = {0, kRows};
  ASSERT_TRUE(
      copy_to_device(row_offsets.data(), std::span<const std::int64_t>(offsets), stream_.get())
          .ok());
  ASSERT_EQ(cudaMemsetAsync(input.data(), 0x3F, input.bytes(), stream_.get()), cudaSuccess);
  const kernels::GroupedInput operand{.input = input.data(),
                                      .row_offsets = row_offsets.as<std::int64_t>(),
                                      .num_groups = 1,
                                      .capacity_rows = kRows,
                                      .columns = kColumns};
  for (const Scaling scaling : {Scaling::None, Scaling::PerTensorCurrent, Scaling::PerTensorDelayed,
                                Scaling::Block, Scaling::Mxfp8, Scaling::Nvfp4}) {
    const Recipe recipe{.scaling = scaling};
    const std::uint64_t before = AllocationLedger::of_process().clock();
    const auto measured =
        measure_on_device(recipe, OperandRole::Activations, operand, {kRows}, stream_.get());
    ASSERT_TRUE(measured.ok()) << measured.error().message;
    std::int64_t taken = 0;
    for (const Allocation& allocation : AllocationLedger::of_process().read()) {
      if (allocation.allocated_at > before && allocation.space == MemorySpace::Device) {
        taken += static_cast<std::int64_t>(allocation.bytes);
      }
    }
    const std::int64_t said = measure_bytes(recipe, OperandRole::Activations, operand);
    EXPECT_LE(taken, said + kRounding) << static_cast<int>(scaling);
    EXPECT_GE(taken, said * 9 / 10) << static_cast<int>(scaling);
  }
}

TEST_F(DeviceComparisonTest, EndsWhenCancelled) {
  progress_.cancel = true;
  const auto comparison = compare(small(false));
  ASSERT_FALSE(comparison.ok());
  EXPECT_EQ(comparison.error().code, ErrorCode::Cancelled);
}

TEST_F(DeviceComparisonTest, TakesAnOperandOfNoRows) {
  ComparisonRequest request = small(false);
  request.request.shape.rows = 0;
  const auto comparison = compare(request);
  ASSERT_TRUE(comparison.ok()) << comparison.error().message;
  for (const QuantizationReport& report : comparison.value().reports) {
    EXPECT_FALSE(report.refused.empty());
  }
}

TEST_F(DeviceComparisonTest, ReportsTheRateOfALargeOperand) {
  ComparisonRequest request;
  request.request.shape = {.preset = "", .num_experts = 8, .rows = 16384, .n = 16, .k = 4096};
  const auto comparison = compare(request);
  ASSERT_TRUE(comparison.ok()) << comparison.error().message;
  for (const QuantizationReport& report : comparison.value().reports) {
    if (!report.refused.empty()) continue;
    std::int64_t shortest = report.times_ns.front();
    for (const std::int64_t time : report.times_ns) shortest = std::min(shortest, time);
    RecordProperty("ns", std::to_string(shortest));
    EXPECT_LT(shortest, 10'000'000) << "134 MB in 10 ms is no device's rate";
    EXPECT_GT(report.statistics.snr_db, report.recipe.scaling == Scaling::Nvfp4 ? 18.0 : 25.0);
  }
}

}  // namespace
}  // namespace engine
