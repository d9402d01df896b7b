// The offsets twin: prefix sums, cuBLASLt rows, pointer arrays and the sticky error word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/numerics/quantize/offsets_cases.h"

namespace quantize_tests {
namespace {

using testing::ElementsAre;

TEST(SplitsToOffsets, PrefixSumStartsAtZeroAndSkipsNothing) {
  const OffsetsResult result = offsets_cpu({.splits = {3, 0, 5, 2}, .capacity_rows = 16});
  EXPECT_THAT(result.row_offsets, ElementsAre(0, 3, 3, 8, 10));
  EXPECT_THAT(result.rows, ElementsAre(3, 0, 5, 2));
  EXPECT_EQ(result.error_word, 0U);
}

TEST(SplitsToOffsets, PointersCountGroupsRowsAndPaddedRows) {
  const OffsetsResult result = offsets_cpu({.splits = {3, 0, 5, 2}, .capacity_rows = 16});
  // Array 0: 1000 a group. Array 1: 7 a row. Array 2: 1 a padded row. Array 3: all of them.
  EXPECT_THAT(result.pointer_offsets[0], ElementsAre(0, 1000, 2000, 3000));
  EXPECT_THAT(result.pointer_offsets[1], ElementsAre(0, 21, 21, 56));
  EXPECT_THAT(result.pointer_offsets[2], ElementsAre(0, 4, 4, 12));
  EXPECT_THAT(result.pointer_offsets[3], ElementsAre(0, 1025, 2025, 3068));
}

TEST(SplitsToOffsets, NegativeSplitCountsAsZeroAndIsReported) {
  const OffsetsResult result = offsets_cpu({.splits = {4, -1, 2}, .capacity_rows = 16});
  EXPECT_THAT(result.row_offsets, ElementsAre(0, 4, 4, 6));
  EXPECT_THAT(result.rows, ElementsAre(4, 0, 2));
  EXPECT_EQ(result.error_word, 1U);
}

TEST(SplitsToOffsets, SumBeyondTheCapacityIsCutAndReported) {
  const OffsetsResult result = offsets_cpu({.splits = {4, 10, 2}, .capacity_rows = 9});
  EXPECT_THAT(result.row_offsets, ElementsAre(0, 4, 9, 9));
  EXPECT_THAT(result.rows, ElementsAre(4, 5, 0));
  EXPECT_EQ(result.error_word, 2U);
}

TEST(SplitsToOffsets, AbsurdSplitsDoNotOverflow) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const OffsetsResult result =
      offsets_cpu({.splits = {most, most, -most, most}, .capacity_rows = 7});
  EXPECT_THAT(result.row_offsets, ElementsAre(0, 7, 7, 7, 7));
  EXPECT_EQ(result.error_word, 3U);
}

TEST(SplitsToOffsets, ErrorWordKeepsEarlierBits) {
  const OffsetsResult result = offsets_cpu({.splits = {1}, .capacity_rows = 4, .error_before = 6U});
  EXPECT_EQ(result.error_word, 6U);
}

TEST(SplitsToOffsets, ByteOffsetsBeyondThirtyTwoBits) {
  const std::int64_t rows = std::int64_t{1} << 20;
  const OffsetsResult result =
      offsets_cpu({.splits = {rows, rows, rows}, .capacity_rows = 3 * rows, .row_bytes = 7168});
  EXPECT_THAT(result.pointer_offsets[1], ElementsAre(0, 7168 * rows, 2 * 7168 * rows));
}

TEST(SplitsToOffsets, OptionalOutputsMayBeAbsent) {
  const std::vector<std::int64_t> splits = {2, 3};
  std::vector<std::int64_t> row_offsets(3, -1);
  kernels::splits_to_offsets_cpu({.splits = splits.data(),
                                  .num_groups = 2,
                                  .capacity_rows = 4,
                                  .row_offsets = row_offsets.data()});
  EXPECT_THAT(row_offsets, ElementsAre(0, 2, 4));
}

}  // namespace
}  // namespace quantize_tests
