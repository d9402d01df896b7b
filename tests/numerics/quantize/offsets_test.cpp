// The offsets twin: prefix sums in units, cuBLASLt dimensions, pointer arrays and the sticky error
// word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/numerics/quantize/offsets_run.h"

namespace quantize_tests {
namespace {

using kernels::IntegerType;
using testing::ElementsAre;
constexpr auto kEnd = kSentinel;  // nothing may be written here

TEST(SplitsToOffsets, PrefixSumStartsAtZeroAndSkipsNothing) {
  const OffsetsResult result =
      offsets_cpu({.splits = {3, 0, 5, 2}, .capacity_rows = 16, .padded_rows_unit = 4});
  EXPECT_THAT(result.row_offsets, ElementsAre(0, 3, 3, 8, 10, kEnd));
  EXPECT_THAT(result.rows, ElementsAre(3, 0, 5, 2, kEnd));
  EXPECT_THAT(result.padded_rows, ElementsAre(4, 0, 8, 4, kEnd));
  EXPECT_EQ(result.error_word, 0U);
}

TEST(SplitsToOffsets, ThirtyTwoBitSplits) {
  const OffsetsResult result =
      offsets_cpu({.splits = {3, -1, 5}, .capacity_rows = 16, .split_type = IntegerType::Int32});
  EXPECT_THAT(result.row_offsets, ElementsAre(0, 3, 3, 8, kEnd));
  EXPECT_EQ(result.error_word, kernels::kNegativeSplit);
}

TEST(SplitsToOffsets, OffsetArraysCountUnits) {
  OffsetsCase test{.splits = {300, 0, 128, 1}, .capacity_rows = 500};
  test.offset_arrays = {{.unit = 128, .stride = 128},
                        {.type = IntegerType::Int32, .unit = 128},
                        {.type = IntegerType::Int32, .leading_zero = false},
                        {.leading_zero = false, .unit = 7, .stride = -3},
                        {.stride = 0}};
  const OffsetsResult result = offsets_cpu(test);
  EXPECT_THAT(result.wide[0], ElementsAre(0, 384, 384, 512, 640, kEnd));
  EXPECT_THAT(result.narrow[1], ElementsAre(0, 3, 3, 4, 5, kEnd));
  EXPECT_THAT(result.narrow[2], ElementsAre(300, 300, 428, 429, kEnd, kEnd));
  EXPECT_THAT(result.wide[3], ElementsAre(-129, -129, -186, -189, kEnd, kEnd));
  EXPECT_THAT(result.wide[4], ElementsAre(0, 0, 0, 0, 0, kEnd));
  EXPECT_EQ(result.error_word, 0U);
}

TEST(SplitsToOffsets, PointersCountGroupsAndUnits) {
  OffsetsCase test{.splits = {3, 0, 5, 2}, .capacity_rows = 16};
  test.pointer_arrays = {{.bytes_per_group = 1000},
                         {.bytes_per_unit = 7},
                         {.bytes_per_unit = 4, .unit = 4},
                         {.bytes_per_group = 1000, .bytes_per_unit = 10, .unit = 2}};
  const OffsetsResult result = offsets_cpu(test);
  EXPECT_THAT(result.pointers[0], ElementsAre(0, 1000, 2000, 3000, kEnd, kEnd));
  EXPECT_THAT(result.pointers[1], ElementsAre(0, 21, 21, 56, kEnd, kEnd));
  EXPECT_THAT(result.pointers[2], ElementsAre(0, 4, 4, 12, kEnd, kEnd));
  EXPECT_THAT(result.pointers[3], ElementsAre(0, 1020, 2020, 3050, kEnd, kEnd));
}

TEST(SplitsToOffsets, NegativeSplitCountsAsZeroAndIsReported) {
  const OffsetsResult result = offsets_cpu({.splits = {4, -1, 2}, .capacity_rows = 16});
  EXPECT_THAT(result.row_offsets, ElementsAre(0, 4, 4, 6, kEnd));
  EXPECT_THAT(result.rows, ElementsAre(4, 0, 2, kEnd));
  EXPECT_EQ(result.error_word, 1U);
}

TEST(SplitsToOffsets, SumBeyondTheCapacityIsClampedAndReported) {
  OffsetsCase test{.splits = {4, 10, 2}, .capacity_rows = 9, .padded_rows_unit = 4};
  test.offset_arrays = {{.unit = 4, .stride = 4}};
  const OffsetsResult result = offsets_cpu(test);
  EXPECT_THAT(result.row_offsets, ElementsAre(0, 4, 9, 9, kEnd));
  EXPECT_THAT(result.rows, ElementsAre(4, 5, 0, kEnd));
  EXPECT_THAT(result.padded_rows, ElementsAre(4, 8, 0, kEnd));
  EXPECT_THAT(result.wide[0], ElementsAre(0, 4, 12, 12, kEnd));
  EXPECT_EQ(result.error_word, 2U);
}

TEST(SplitsToOffsets, AbsurdSplitsDoNotOverflow) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const OffsetsResult result =
      offsets_cpu({.splits = {most, most, -most, most}, .capacity_rows = 7});
  EXPECT_THAT(result.row_offsets, ElementsAre(0, 7, 7, 7, 7, kEnd));
  EXPECT_EQ(result.error_word, 3U);
}

TEST(SplitsToOffsets, ErrorWordKeepsEarlierBits) {
  const OffsetsResult result = offsets_cpu({.splits = {1}, .capacity_rows = 4, .error_before = 6U});
  EXPECT_EQ(result.error_word, 6U);
}

TEST(SplitsToOffsets, ProductsBeyondThirtyTwoBits) {
  const std::int64_t rows = std::int64_t{1} << 20;
  OffsetsCase test{.splits = {rows, rows, rows, rows}, .capacity_rows = 4 * rows};
  test.offset_arrays = {{.stride = 7168}};
  test.pointer_arrays = {{.bytes_per_unit = 7168}};
  OffsetsResult result = offsets_cpu(test);
  const std::int64_t bytes = 7168 * rows;  // the first group ends beyond 2^32 already
  EXPECT_THAT(result.wide[0], ElementsAre(0, bytes, 2 * bytes, 3 * bytes, 4 * bytes, kEnd));
  EXPECT_THAT(result.pointers[0], ElementsAre(0, bytes, 2 * bytes, 3 * bytes, kEnd, kEnd));
  EXPECT_EQ(result.error_word, 0U);

  test.offset_arrays = {{.type = IntegerType::Int32, .stride = 1024},
                        {.type = IntegerType::Int32, .stride = -1024}};
  result = offsets_cpu(test);
  const std::int32_t most = std::numeric_limits<std::int32_t>::max();
  const std::int32_t least = std::numeric_limits<std::int32_t>::min();
  EXPECT_THAT(result.narrow[0], ElementsAre(0, 1 << 30, most, most, most, kEnd));
  EXPECT_THAT(result.narrow[1], ElementsAre(0, -(1 << 30), least, least, least, kEnd));
  EXPECT_EQ(result.error_word, kernels::kOffsetBeyondInt32);
}

TEST(SplitsToOffsets, DimensionsBeyondThirtyTwoBitsAreReported) {
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const OffsetsResult result = offsets_cpu({.splits = {most, 1}, .capacity_rows = 2 * most});
  EXPECT_THAT(result.row_offsets, ElementsAre(0, most, most + 1, kEnd));
  EXPECT_THAT(result.rows, ElementsAre(most, 1, kEnd));
  EXPECT_THAT(result.padded_rows, ElementsAre(most, 128, kEnd));
  EXPECT_EQ(result.error_word, kernels::kOffsetBeyondInt32);
}

TEST(SplitsToOffsets, OptionalOutputsMayBeAbsent) {
  const std::vector<std::int64_t> splits = {2, 3};
  std::vector<std::int64_t> row_offsets(3, -1);
  kernels::splits_to_offsets_cpu(kernels::SplitsToOffsetsArgs{.splits = splits.data(),
                                                              .num_groups = 2,
                                                              .capacity_rows = 4,
                                                              .row_offsets = row_offsets.data()});
  EXPECT_THAT(row_offsets, ElementsAre(0, 2, 4));
}

}  // namespace
}  // namespace quantize_tests
