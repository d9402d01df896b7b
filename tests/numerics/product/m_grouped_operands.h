// Operands of M-grouped products, for the CPU and the GPU tests.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/product/m_grouped_block.h"
#include "tests/numerics/product/product_values.h"

namespace m_grouped_tests {

using kernels::Fp8Format;
using product_tests::Operand;
using product_tests::Values;

struct Problem {
  std::string name;
  std::vector<std::int64_t> splits;
  std::int64_t columns = 0;
  std::int64_t reduction = 0;
  std::int64_t spare = 0;  // rows behind the last group
};

/// Splits around every boundary of a copy, a half and a tile.
inline std::vector<Problem> problems() {
  const std::vector<std::int64_t> hostile = {0,   1, 31,  33,  0,   63,  64,  65, 127,
                                             129, 0, 191, 193, 255, 256, 257, 0};
  std::vector<Problem> all = {
      {.name = "OneTile", .splits = {256}, .columns = 256, .reduction = 128},
      {.name = "Smallest", .splits = hostile, .columns = 16, .reduction = 16, .spare = 3},
      {.name = "Narrow", .splits = hostile, .columns = 48, .reduction = 272},
      {.name = "OddTiles", .splits = hostile, .columns = 400, .reduction = 48, .spare = 1},
      // 42 pairs of tiles of 256 rows and 84: with 66 clusters, no pair is halved and some are.
      {.name = "WholePairs", .splits = hostile, .columns = 528, .reduction = 48},
      {.name = "HalvedPairs", .splits = hostile, .columns = 1296, .reduction = 48},
      {.name = "ManyStages", .splits = {300, 0, 5}, .columns = 144, .reduction = 2880},
      {.name = "ManyTiles", .splits = {2500, 70, 0, 33}, .columns = 1040, .reduction = 144},
      {.name = "NoRows", .splits = {0, 0, 0}, .columns = 192, .reduction = 256, .spare = 9}};
  std::vector<std::int64_t> many;
  for (int group = 0; group < 1024; ++group) many.push_back(group % 7 == 0 ? 0 : group * 37 % 45);
  all.push_back({.name = "ManyGroups", .splits = many, .columns = 32, .reduction = 16});
  return all;
}

struct Operands {
  std::vector<std::int64_t> row_offsets = {0};
  std::int64_t capacity = 0;
  Operand x;
  Operand w;

  /// What belongs to no row is NaN.
  Operands(const Problem& problem, Values fill, Fp8Format format, unsigned seed = 1) {
    constexpr std::uint8_t kNan = 0x7F;
    std::mt19937 random(seed);
    const std::int64_t blocks = kernels::ceil_div(problem.reduction, kernels::kBlock);
    for (const std::int64_t rows : problem.splits) {
      row_offsets.push_back(row_offsets.back() + rows);
      for (std::int64_t block = 0; block < blocks; ++block) {
        for (std::int64_t row = 0; row < kernels::round_up(rows, 4); ++row) {
          x.scales.push_back(row < rows ? product_tests::scale(fill, random)
                                        : std::numeric_limits<float>::quiet_NaN());
        }
      }
      const std::int64_t squares = kernels::ceil_div(problem.columns, kernels::kBlock);
      for (std::int64_t square = 0; square < squares; ++square) {
        for (std::int64_t block = 0; block < kernels::round_up(blocks, 4); ++block) {
          w.scales.push_back(block < blocks ? product_tests::scale(fill, random)
                                            : std::numeric_limits<float>::quiet_NaN());
        }
      }
    }
    if (x.scales.empty()) x.scales.resize(4);
    capacity = row_offsets.back() + problem.spare;
    x.codes.assign(static_cast<std::size_t>(capacity * problem.reduction), kNan);
    for (std::int64_t i = 0; i < row_offsets.back() * problem.reduction; ++i) {
      x.codes[static_cast<std::size_t>(i)] = product_tests::code(fill, format, random);
    }
    w.codes.resize(problem.splits.size() *
                   static_cast<std::size_t>(problem.columns * problem.reduction));
    for (std::uint8_t& code : w.codes) {
      code = product_tests::code(fill, Fp8Format::E4m3, random);
    }
  }

  kernels::MGroupedBlockArgs args(const Problem& problem, Fp8Format format) const {
    return {.x = {.codes = x.codes.data(), .scale_inv = x.scales.data(), .format = format},
            .w = {.codes = w.codes.data(), .scale_inv = w.scales.data()},
            .row_offsets = row_offsets.data(),
            .num_groups = static_cast<int>(problem.splits.size()),
            .capacity_rows = capacity,
            .columns = problem.columns,
            .reduction = problem.reduction};
  }
};

inline std::size_t output_elements(const Operands& operands, const Problem& problem) {
  return static_cast<std::size_t>(operands.capacity * problem.columns);
}

}  // namespace m_grouped_tests
