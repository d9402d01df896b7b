// The checksum identifies the group whose bits differ, and nothing else changes it.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/diagnostics/statistics.h"
#include "tests/numerics/diagnostics/operand.h"

namespace {

std::vector<std::uint64_t> checksums(const tests::Operand& operand) {
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(operand.num_groups()), 0);
  kernels::group_checksum_cpu({.values = operand.words.data(),
                               .row_offsets = operand.row_offsets.data(),
                               .num_groups = operand.num_groups(),
                               .capacity_rows = operand.capacity_rows,
                               .columns = operand.columns,
                               .checksums = sums.data()});
  return sums;
}

tests::Operand product() { return tests::make_operand({.splits = {4, 0, 300, 9}, .columns = 272}); }

TEST(GroupChecksum, OneBitChangesOnlyItsGroup) {
  tests::Operand operand = product();
  const std::vector<std::uint64_t> before = checksums(operand);
  EXPECT_EQ(before, checksums(operand));
  EXPECT_EQ(before[1], 0U);  // no elements
  for (int bit = 0; bit < 16; ++bit) {
    operand.words[100 * 272 + 17] ^= static_cast<std::uint16_t>(1U << bit);
    const std::vector<std::uint64_t> after = checksums(operand);
    EXPECT_NE(after[2], before[2]) << bit;
    EXPECT_EQ(after[0], before[0]);
    EXPECT_EQ(after[3], before[3]);
    operand.words[100 * 272 + 17] ^= static_cast<std::uint16_t>(1U << bit);
  }
}

TEST(GroupChecksum, SwappedElementsAndRowsAreSeen) {
  tests::Operand operand = product();
  const std::vector<std::uint64_t> before = checksums(operand);
  auto row = operand.words.begin() + 10 * 272;
  std::swap_ranges(row, row + 272, row + 272);
  EXPECT_NE(checksums(operand)[2], before[2]);
}

TEST(GroupChecksum, CountsPositionsInsideTheGroup) {
  // The same rows as a first and as a later group have the same sum; values past the last group
  // do not count.
  tests::Operand first = tests::make_operand({.splits = {70}, .columns = 272, .seed = 8});
  tests::Operand later = tests::make_operand({.splits = {33, 70}, .columns = 272, .seed = 9});
  std::copy_n(first.words.begin(), 70 * 272, later.words.begin() + 33 * 272);
  EXPECT_EQ(checksums(first)[0], checksums(later)[1]);
  first.words.back() ^= 1U;
  EXPECT_EQ(checksums(first)[0], checksums(later)[1]);
}

}  // namespace
