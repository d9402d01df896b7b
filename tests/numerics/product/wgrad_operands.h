// Operands of weight gradients with joined lines, for the CPU and the GPU tests.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/product/wgrad_block.h"
#include "tests/numerics/product/product_values.h"

namespace wgrad_tests {

using kernels::Fp8Format;
using product_tests::Operand;
using product_tests::Values;

struct Problem {
  std::string name;
  std::vector<std::int64_t> splits;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t spare = 0;  // capacity behind the last group, in units of kJoinedUnit
};

/// Splits that end before, at and behind every boundary of a step, a block and a stage.
inline std::vector<Problem> problems() {
  const std::vector<std::int64_t> hostile = {0, 1, 31, 32, 33, 0, 63, 65, 96, 97, 127, 128, 129, 0};
  std::vector<Problem> all = {
      {.name = "OneTile", .splits = {128}, .n = 192, .k = 128},
      {.name = "Smallest", .splits = hostile, .n = 16, .k = 16, .spare = 3},
      {.name = "Narrow", .splits = hostile, .n = 48, .k = 272},
      {.name = "Wide", .splits = hostile, .n = 400, .k = 48, .spare = 1},
      {.name = "ManyStages", .splits = {1153, 0, 640, 5}, .n = 208, .k = 144},
      {.name = "ManyTiles", .splits = {130, 70, 0, 33}, .n = 2880, .k = 1040},
      {.name = "NoRows", .splits = {0, 0, 0}, .n = 192, .k = 256, .spare = 1}};
  std::vector<std::int64_t> many;
  for (int group = 0; group < 1024; ++group) many.push_back(group % 7 == 0 ? 0 : group * 37 % 45);
  all.push_back({.name = "ManyGroups", .splits = many, .n = 32, .k = 16});
  return all;
}

struct Operands {
  std::vector<std::int64_t> row_offsets = {0};
  std::vector<std::int64_t> first_columns = {0};
  std::int64_t capacity = 0;
  Operand y;
  Operand x;

  /// Everything that belongs to no row is a NaN, except the padding of each group, which is 0.
  Operands(const Problem& problem, Values fill, Fp8Format y_format, Fp8Format x_format,
           unsigned seed = 1) {
    std::int64_t blocks = 0;
    for (const std::int64_t rows : problem.splits) {
      row_offsets.push_back(row_offsets.back() + rows);
      first_columns.push_back(first_columns.back() + kernels::round_up(rows, kernels::kJoinedUnit));
      blocks += kernels::ceil_div(rows, kernels::kBlock);
    }
    capacity = first_columns.back() + (problem.spare + 1) * kernels::kJoinedUnit;
    std::mt19937 random(seed);
    y = operand(problem.n, blocks, fill, y_format, random);
    x = operand(problem.k, blocks, fill, x_format, random);
  }

  kernels::WgradBlockArgs args(const Problem& problem, Fp8Format y_format,
                               Fp8Format x_format) const {
    return {.y = {.codes = y.codes.data(), .scale_inv = y.scales.data(), .format = y_format},
            .x = {.codes = x.codes.data(), .scale_inv = x.scales.data(), .format = x_format},
            .row_offsets = row_offsets.data(),
            .first_columns = first_columns.data(),
            .num_groups = static_cast<int>(problem.splits.size()),
            .capacity_rows = capacity,
            .n = problem.n,
            .k = problem.k};
  }

 private:
  Operand operand(std::int64_t lines, std::int64_t blocks, Values fill, Fp8Format format,
                  std::mt19937& random) const {
    constexpr std::uint8_t kNan = 0x7F;
    Operand made;
    made.codes.assign(static_cast<std::size_t>(lines * capacity), kNan);
    for (std::int64_t line = 0; line < lines; ++line) {
      std::uint8_t* codes = made.codes.data() + line * capacity;
      for (std::size_t group = 0; group + 1 < row_offsets.size(); ++group) {
        const std::int64_t rows = row_offsets[group + 1] - row_offsets[group];
        for (std::int64_t at = first_columns[group]; at < first_columns[group + 1]; ++at) {
          const bool padding = at - first_columns[group] >= rows;
          codes[at] = padding ? std::uint8_t{0} : product_tests::code(fill, format, random);
        }
      }
    }
    const auto count = static_cast<std::size_t>(
        kernels::wgrad_scale_blocks(capacity, static_cast<int>(row_offsets.size()) - 1) * lines);
    made.scales.assign(count, std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t i = 0; i < blocks * lines; ++i) {
      made.scales[static_cast<std::size_t>(i)] = product_tests::scale(fill, random);
    }
    return made;
  }
};

inline std::size_t gradient_elements(const Problem& problem) {
  return problem.splits.size() * static_cast<std::size_t>(problem.n * problem.k);
}

}  // namespace wgrad_tests
