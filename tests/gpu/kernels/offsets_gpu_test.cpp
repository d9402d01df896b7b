// The offsets launch against its CPU twin: every output and the error word, from one group to the
// 1024 that one block of threads holds.
#include <limits>
#include <random>

#include "tests/gpu/kernels/device_array.h"
#include "tests/numerics/quantize/offsets_cases.h"

namespace gpu_tests {
namespace {

using quantize_tests::OffsetsCase;
using quantize_tests::OffsetsResult;

OffsetsResult offsets_gpu(const OffsetsCase& test) {
  const std::size_t groups = test.splits.size();
  const DeviceArray<std::int64_t> splits(test.splits);
  const DeviceArray<std::int64_t> row_offsets(std::vector<std::int64_t>(groups + 1, -1));
  const DeviceArray<std::int32_t> rows(std::vector<std::int32_t>(groups, -1));
  const DeviceArray<std::uint32_t> error_word({test.error_before});
  const std::vector<kernels::PointerArray> arrays = quantize_tests::pointer_arrays(test.row_bytes);
  const DeviceArray<void*> pointers(std::vector<void*>(arrays.size() * groups, nullptr));
  kernels::SplitsToOffsetsArgs args{.splits = splits.get(),
                                    .num_groups = static_cast<int>(groups),
                                    .capacity_rows = test.capacity_rows,
                                    .row_offsets = row_offsets.get(),
                                    .rows = rows.get(),
                                    .num_pointer_arrays = static_cast<int>(arrays.size()),
                                    .error_word = error_word.get()};
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    args.pointer_arrays[i] = arrays[i];
    args.pointer_arrays[i].pointers = pointers.get() + i * groups;
  }
  EXPECT_EQ(kernels::splits_to_offsets(args, nullptr), cudaSuccess);
  OffsetsResult result{.row_offsets = row_offsets.values(),
                       .rows = rows.values(),
                       .pointer_offsets = {},
                       .error_word = error_word.values()[0]};
  const std::vector<void*> flat = pointers.values();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const auto begin = flat.begin() + static_cast<std::ptrdiff_t>(i * groups);
    result.pointer_offsets.push_back(quantize_tests::distances_from_base(
        {begin, begin + static_cast<std::ptrdiff_t>(groups)}, arrays[i].base));
  }
  return result;
}

class OffsetsGpu : public DeviceTest {};

TEST_F(OffsetsGpu, EqualsCpuForEveryGroupCount) {
  std::mt19937 random(7);
  for (const int groups : {1, 2, 31, 32, 33, 64, 65, 255, 256, 257, 1000, 1023, 1024}) {
    OffsetsCase test{.splits = {}, .capacity_rows = 0, .row_bytes = 7168};
    for (int group = 0; group < groups; ++group) {
      const auto drawn = static_cast<std::int64_t>(random() % 4000U);
      test.splits.push_back(drawn < 1000 ? 0 : drawn * 1000);
      test.capacity_rows += test.splits.back();
    }
    EXPECT_EQ(offsets_gpu(test), quantize_tests::offsets_cpu(test)) << groups << " groups";
    test.capacity_rows /= 2;
    test.error_before = 4U;
    EXPECT_EQ(offsets_gpu(test), quantize_tests::offsets_cpu(test)) << groups << " groups, cut";
  }
}

TEST_F(OffsetsGpu, EqualsCpuForFaultySplits) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  for (const std::vector<std::int64_t>& splits :
       {std::vector<std::int64_t>{4, -1, 2}, {4, 10, 2}, {most, most, least, most}, {0, 0}, {9}}) {
    const OffsetsCase test{.splits = splits, .capacity_rows = 9};
    EXPECT_EQ(offsets_gpu(test), quantize_tests::offsets_cpu(test));
  }
}

TEST_F(OffsetsGpu, OptionalOutputsMayBeAbsent) {
  const DeviceArray<std::int64_t> splits({2, 3});
  const DeviceArray<std::int64_t> row_offsets({-1, -1, -1});
  ASSERT_EQ(kernels::splits_to_offsets({.splits = splits.get(),
                                        .num_groups = 2,
                                        .capacity_rows = 4,
                                        .row_offsets = row_offsets.get()},
                                       nullptr),
            cudaSuccess);
  EXPECT_EQ(row_offsets.values(), (std::vector<std::int64_t>{0, 2, 4}));
}

}  // namespace
}  // namespace gpu_tests
