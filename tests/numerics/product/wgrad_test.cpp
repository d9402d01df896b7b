// The CPU twin of the weight gradients against their definition in double precision, and the order
// in which the kernel takes its tiles.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "kernels/common/element_run.h"
#include "kernels/product/wgrad_order.h"
#include "tests/numerics/product/wgrad_operands.h"

namespace wgrad_tests {
namespace {

constexpr Fp8Format kFormats[] = {Fp8Format::E4m3, Fp8Format::E5m2};

double element(const kernels::WgradBlockArgs& args, int group, std::int64_t n, std::int64_t k) {
  std::int64_t block = 0;
  for (int before = 0; before < group; ++before) {
    block +=
        kernels::ceil_div(args.row_offsets[before + 1] - args.row_offsets[before], kernels::kBlock);
  }
  const std::int64_t rows = args.row_offsets[group + 1] - args.row_offsets[group];
  double sum = 0.0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t b = block + row / kernels::kBlock;
    const std::int64_t column = args.first_columns[group] + row;
    const std::uint8_t y = args.y.codes[n * args.capacity_rows + column];
    const std::uint8_t x = args.x.codes[k * args.capacity_rows + column];
    sum += double{kernels::fp8_values(args.y.format)[y]} *
           double{kernels::fp8_values(args.x.format)[x]} *
           double{args.y.scale_inv[b * args.n + n]} * double{args.x.scale_inv[b * args.k + k]};
  }
  return sum;
}

TEST(WgradTwin, EqualsTheDefinitionWhereSumsAreExact) {
  for (const Problem& problem : problems()) {
    if (problem.n * problem.k > 200000) continue;  // in double, element by element
    for (const Fp8Format y_format : kFormats) {
      SCOPED_TRACE(problem.name);
      const Fp8Format x_format = Fp8Format::E4m3;
      const Operands operands(problem, Values::Exact, y_format, x_format);
      std::vector<float> gradient(gradient_elements(problem), 7.0F);
      kernels::WgradBlockArgs args = operands.args(problem, y_format, x_format);
      args.gradient = gradient.data();
      args.type = kernels::InputType::Fp32;
      kernels::wgrad_block_cpu(args);
      std::size_t at = 0;
      for (int group = 0; group < args.num_groups; ++group) {
        for (std::int64_t n = 0; n < args.n; ++n) {
          for (std::int64_t k = 0; k < args.k; ++k) {
            ASSERT_EQ(gradient[at++], static_cast<float>(element(args, group, n, k)));
          }
        }
      }
    }
  }
}

TEST(WgradTwin, AddsToWhatIsThereAndRoundsOnce) {
  const Problem problem{.name = "", .splits = {40, 0, 130}, .n = 16, .k = 32};
  const Operands operands(problem, Values::Exact, Fp8Format::E5m2, Fp8Format::E4m3);
  kernels::WgradBlockArgs args = operands.args(problem, Fp8Format::E5m2, Fp8Format::E4m3);
  args.accumulate = true;
  for (const kernels::InputType type :
       {kernels::InputType::Fp32, kernels::InputType::Bf16, kernels::InputType::Fp16}) {
    const auto elements = static_cast<std::int64_t>(gradient_elements(problem));
    std::vector<float> before(gradient_elements(problem));
    for (std::size_t i = 0; i < before.size(); ++i) before[i] = static_cast<float>(i % 50) / 8.0F;
    std::vector<float> storage(before.size());
    kernels::round_run(before.data(), elements, type, storage.data(), 0);
    kernels::widen_run({.input = storage.data(), .type = type, .count = elements}, before.data());
    args.gradient = storage.data();
    args.type = type;
    kernels::wgrad_block_cpu(args);
    std::vector<float> expected(before.size());
    std::size_t at = 0;
    for (int group = 0; group < args.num_groups; ++group) {
      for (std::int64_t n = 0; n < args.n; ++n) {
        for (std::int64_t k = 0; k < args.k; ++k, ++at) {
          expected[at] = before[at] + static_cast<float>(element(args, group, n, k));
        }
      }
    }
    std::vector<float> rounded(before.size());
    kernels::round_run(expected.data(), elements, type, rounded.data(), 0);
    EXPECT_EQ(rounded, storage);
  }
}

TEST(QuickDivision, EqualsDivision) {
  for (const std::uint32_t divisor : {1U, 2U, 3U, 7U, 10U, 64U, 1000U, 65537U, 0x7FFFFFFFU}) {
    const kernels::QuickDivision division(divisor);
    for (const std::uint32_t number :
         {0U, 1U, divisor - 1, divisor, divisor + 1, 12345678U, 0x7FFFFFFEU, 0x7FFFFFFFU}) {
      if (number > 0x7FFFFFFFU) continue;
      EXPECT_EQ(division.quotient(number), number / divisor) << number << " / " << divisor;
    }
  }
}

TEST(WgradOrder, TakesEveryTileOnceLongGroupsFirst) {
  struct Shape {
    std::int64_t n, k;
    int groups, clusters;
  };
  for (const Shape& shape : {Shape{16, 16, 1, 66}, Shape{4096, 7168, 3, 66}, Shape{2016, 144, 5, 4},
                             Shape{28672, 256, 2, 7}}) {
    const kernels::WgradOrder order(shape.n, shape.k, shape.groups);
    std::set<std::tuple<int, int, int>> seen;
    for (int cluster = 0; cluster < shape.clusters; ++cluster) {
      int last_rank = 0;
      for (int turn = 0; std::int64_t{turn} * shape.clusters < order.units(); ++turn) {
        const std::int64_t unit = kernels::WgradOrder::unit(turn, cluster, shape.clusters);
        if (unit >= order.units()) continue;
        const kernels::WgradOrder::Place place = order.place(unit);
        EXPECT_GE(place.rank, last_rank);
        last_rank = place.rank;
        EXPECT_LT(place.tile_row * kernels::kWgradTileRows, shape.n);
        EXPECT_LT(place.first_tile_column * kernels::kWgradTileColumns, shape.k);
        EXPECT_TRUE(seen.insert({place.rank, place.tile_row, place.first_tile_column}).second);
      }
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), order.units());
    EXPECT_EQ(order.units(),
              shape.groups * kernels::ceil_div(shape.n, kernels::kWgradTileRows) *
                  kernels::ceil_div(shape.k, kernels::kWgradTileColumns * kernels::kWgradCluster));
  }
}

}  // namespace
}  // namespace wgrad_tests
