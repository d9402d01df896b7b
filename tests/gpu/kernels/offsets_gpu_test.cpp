// The offsets launch against its CPU twin: every output and the error word, from one group to 1024,
// from no arrays to the maximum of one launch.
#include <limits>
#include <random>

#include "tests/gpu/kernels/device_array.h"
#include "tests/numerics/quantize/offsets_run.h"

namespace gpu_tests {
namespace {

using kernels::IntegerType;
using quantize_tests::offsets_cpu;
using quantize_tests::OffsetsCase;
using quantize_tests::OffsetsResult;

OffsetsResult offsets_gpu(const OffsetsCase& test) {
  return quantize_tests::run_offsets<DeviceArray>(
      test, [](const kernels::SplitsToOffsetsArgs& args) {
        EXPECT_EQ(kernels::splits_to_offsets(args, nullptr), cudaSuccess);
      });
}

OffsetsCase random_case(int groups, std::int64_t rows_per_draw) {
  std::mt19937 random(7);
  OffsetsCase test{.splits = {}};
  for (int group = 0; group < groups; ++group) {
    const auto drawn = static_cast<std::int64_t>(random() % 4000U);
    test.splits.push_back(drawn < 1000 ? 0 : drawn * rows_per_draw);
    test.capacity_rows += test.splits.back();
  }
  return test;
}

class OffsetsGpu : public DeviceTest {};

TEST_F(OffsetsGpu, EqualsCpuForEveryGroupCount) {
  for (const int groups : {1, 2, 8, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 1023, 1024}) {
    // Sums below and beyond 2^31: the kernel's two widths.
    for (const std::int64_t rows_per_draw : {1, 1237, 500'000}) {
      for (const IntegerType type : {IntegerType::Int32, IntegerType::Int64}) {
        OffsetsCase test = random_case(groups, rows_per_draw);
        test.split_type = type;
        fill_pointer_arrays(test);
        EXPECT_EQ(offsets_gpu(test), offsets_cpu(test)) << groups << " x " << rows_per_draw;
        test.capacity_rows /= 2;
        test.error_before = 8U;
        EXPECT_EQ(offsets_gpu(test), offsets_cpu(test)) << groups << " cut, x " << rows_per_draw;
      }
    }
  }
}

TEST_F(OffsetsGpu, EqualsCpuForEveryNumberOfUnits) {
  for (const int groups : {3, 100, 1024}) {
    for (const std::int64_t rows_per_draw : {3, 500'000}) {
      OffsetsCase test = random_case(groups, rows_per_draw);
      add_distinct_units(test);
      EXPECT_EQ(offsets_gpu(test), offsets_cpu(test)) << groups;
      while (!test.pointer_arrays.empty()) {
        if (!test.offset_arrays.empty()) test.offset_arrays.pop_back();
        test.pointer_arrays.pop_back();
        EXPECT_EQ(offsets_gpu(test), offsets_cpu(test))
            << groups << " groups, " << test.pointer_arrays.size() << " pointer arrays";
      }
    }
  }
}

TEST_F(OffsetsGpu, EqualsCpuForFaultySplits) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  for (const std::vector<std::int64_t>& splits :
       {std::vector<std::int64_t>{4, -1, 2}, {4, 10, 2}, {most, most, least, most}, {0, 0}, {9}}) {
    OffsetsCase test{.splits = splits, .capacity_rows = 9};
    EXPECT_EQ(offsets_gpu(test), offsets_cpu(test));
    add_all_arrays(test);
    EXPECT_EQ(offsets_gpu(test), offsets_cpu(test));
    test.capacity_rows = 0;
    EXPECT_EQ(offsets_gpu(test), offsets_cpu(test));
  }
}

TEST_F(OffsetsGpu, EqualsCpuForProductsBeyondThirtyTwoBits) {
  const std::int64_t rows = std::int64_t{1} << 20;
  OffsetsCase test{.splits = {rows, rows, rows, rows}, .capacity_rows = 4 * rows};
  for (const std::int64_t stride : {0, 1, 511, 1024, 7168, -1024}) {
    test.offset_arrays = {{.stride = stride}, {.type = IntegerType::Int32, .stride = stride}};
    test.pointer_arrays = {{.bytes_per_unit = stride}};
    EXPECT_EQ(offsets_gpu(test), offsets_cpu(test)) << stride;
  }
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(offsets_gpu({.splits = {most, most, 1}, .capacity_rows = 3 * most}),
            offsets_cpu({.splits = {most, most, 1}, .capacity_rows = 3 * most}));
}

TEST_F(OffsetsGpu, SplitsNeedOnlyNaturalAlignment) {
  const DeviceArray<std::int32_t> splits({9, 1, 2, 3, 4, 5, 6});
  const DeviceArray<std::int64_t> row_offsets(std::vector<std::int64_t>(7, -1));
  const kernels::SplitsToOffsetsArgs args{.splits = splits.get() + 1,
                                          .split_type = IntegerType::Int32,
                                          .num_groups = 6,
                                          .capacity_rows = 99,
                                          .row_offsets = row_offsets.get()};
  ASSERT_EQ(kernels::splits_to_offsets(args, nullptr), cudaSuccess);
  EXPECT_EQ(row_offsets.values(), (std::vector<std::int64_t>{0, 1, 3, 6, 10, 15, 21}));
}

TEST_F(OffsetsGpu, OptionalOutputsMayBeAbsent) {
  const DeviceArray<std::int64_t> splits({2, 3});
  const DeviceArray<std::int64_t> row_offsets({-1, -1, -1});
  const kernels::SplitsToOffsetsArgs args{.splits = splits.get(),
                                          .num_groups = 2,
                                          .capacity_rows = 4,
                                          .row_offsets = row_offsets.get()};
  ASSERT_EQ(kernels::splits_to_offsets(args, nullptr), cudaSuccess);
  EXPECT_EQ(row_offsets.values(), (std::vector<std::int64_t>{0, 2, 4}));
}

TEST_F(OffsetsGpu, RefusesUnsupportedArguments) {
  kernels::SplitsToOffsetsArgs args{.num_groups = 0};
  EXPECT_EQ(kernels::splits_to_offsets(args, nullptr), cudaErrorInvalidValue);
  args.num_groups = 1025;
  EXPECT_EQ(kernels::splits_to_offsets(args, nullptr), cudaErrorInvalidValue);
  args.num_groups = 4;
  args.num_offset_arrays = kernels::kMaxOffsetArrays + 1;
  EXPECT_EQ(kernels::splits_to_offsets(args, nullptr), cudaErrorInvalidValue);
  args.num_offset_arrays = 0;
  args.num_pointer_arrays = kernels::kMaxPointerArrays + 1;
  EXPECT_EQ(kernels::splits_to_offsets(args, nullptr), cudaErrorInvalidValue);
  args.num_pointer_arrays = 0;
  args.num_offset_arrays = 1;
  args.offset_arrays[0].unit = 0;
  EXPECT_EQ(kernels::splits_to_offsets(args, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace gpu_tests
