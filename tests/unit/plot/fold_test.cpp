// Folding of timeline rows: nothing is lost, the longest is named, cost follows the pixels.
#include "app/gui/plot/fold.h"

#include <gtest/gtest.h>

namespace app::plot {
namespace {

std::vector<Span> short_spans(int count) {
  std::vector<Span> spans;
  for (int i = 0; i < count; ++i) {
    // One in the middle is twice as long as the others.
    const std::int64_t length = i == count / 2 ? 8 : 4;
    spans.push_back(
        {std::int64_t{10} * i, std::int64_t{10} * i + length, static_cast<std::uint32_t>(i)});
  }
  return spans;
}

TEST(Fold, KeepsEveryRecordInExactlyOneBlock) {
  const FoldedRow row(short_spans(10000));
  std::uint64_t counted = 0;
  for (const Block& block : row.blocks({0.0, 1e5}, 300.0)) counted += block.count;
  EXPECT_EQ(counted, 10000U);
}

TEST(Fold, BlocksFollowPixelsNotRecords) {
  const FoldedRow row(short_spans(1000000));
  EXPECT_LE(row.blocks({0.0, 1e7}, 1e7 / 400.0).size(), 401U);
}

TEST(Fold, NamesTheLongestOfAFold) {
  const FoldedRow row(short_spans(10000));
  const std::vector<Block> blocks = row.blocks({0.0, 1e5}, 1e6);
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].longest, 5000U);
}

TEST(Fold, LongestOfAnyPartAgreesWithALinearSearch) {
  std::vector<Span> spans;
  std::uint64_t state = 7;
  std::int64_t at = 0;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto length = static_cast<std::int64_t>(state >> 40U);
    spans.push_back({at, at + length, i});
    at += length;
  }
  const FoldedRow row(spans);
  for (std::size_t first = 0; first < 4900; first += 311) {
    for (std::size_t last = first + 1; last <= 5000; last += 577) {
      std::int64_t expected = 0;
      for (std::size_t i = first; i < last; ++i) {
        expected = std::max(expected, spans[i].end_ns - spans[i].begin_ns);
      }
      const Span& found = spans[row.longest(first, last)];
      ASSERT_EQ(found.end_ns - found.begin_ns, expected) << first << " " << last;
    }
  }
}

TEST(Fold, LongSpanIsNotSwallowedByItsShortNeighbours) {
  std::vector<Span> spans = {{0, 1, 0}, {2, 3, 1}, {4, 500, 2}, {501, 502, 3}};
  const std::vector<Block> blocks = FoldedRow(spans).blocks({0.0, 600.0}, 50.0);
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(blocks[0].count, 2U);
  EXPECT_EQ(blocks[1].count, 1U);
  EXPECT_EQ(blocks[1].longest, 2U);
}

TEST(Fold, OnlyTheViewIsDrawn) {
  const FoldedRow row(short_spans(1000));
  const std::vector<Block> blocks = row.blocks({100.0, 130.0}, 1.0);
  ASSERT_FALSE(blocks.empty());
  EXPECT_EQ(blocks.front().longest, 10U);
  EXPECT_EQ(blocks.back().longest, 12U);
}

TEST(Fold, NestedSpansLandBelow) {
  const std::vector<Span> spans = {{0, 100, 0}, {10, 20, 1}, {30, 40, 2}, {100, 120, 3}};
  const std::vector<FoldedRow> rows = stack_rows(spans, 4);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].spans().size(), 2U);
  EXPECT_EQ(rows[1].spans().size(), 2U);
}

TEST(Fold, RowsAreLimitedAndKeepEverySpan) {
  std::vector<Span> spans;
  for (std::uint32_t i = 0; i < 10; ++i) spans.push_back({i, 1000, i});
  const std::vector<FoldedRow> rows = stack_rows(spans, 3);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].spans().size() + rows[1].spans().size() + rows[2].spans().size(), 10U);
}

}  // namespace
}  // namespace app::plot
