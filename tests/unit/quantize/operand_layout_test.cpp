// Sizes and places of codes and scales, checked against the definitions of kernels/quantize.
#include "engine/quantize/operand_layout.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

namespace engine {
namespace {

using kernels::Direction;
using kernels::ScaleLayout;

/// Every recipe that quantizes, with square blocks of weights and without.
std::vector<Recipe> quantizing_recipes() {
  std::vector<Recipe> recipes;
  for (std::size_t i = 0; i < kRecipeTraits.size(); ++i) {
    if (!kRecipeTraits[i].quantizes()) continue;
    recipes.push_back({.scaling = static_cast<Scaling>(i)});
    recipes.push_back({.scaling = static_cast<Scaling>(i), .square_weight_blocks = false});
  }
  return recipes;
}

const std::vector<Recipe> kRecipes = quantizing_recipes();

template <class Visit>
void for_each_layout(const OperandExtent& extent, Visit visit) {
  for (const Recipe& recipe : kRecipes) {
    for (const OperandRole role : {OperandRole::Activations, OperandRole::Weights}) {
      for (const Direction direction : {Direction::Rowwise, Direction::Columnwise}) {
        visit(operand_layout(recipe, role, direction, extent));
      }
    }
  }
}

TEST(OperandLayout, ScalesAreRoundedAsTheRecipeDecidesOrIsAsked) {
  for (const Recipe& recipe : kRecipes) {
    const RecipeTraits& traits = traits_of(recipe);
    for (const bool asked : {false, true}) {
      Recipe wanted = recipe;
      wanted.pow2_scales = asked;
      EXPECT_EQ(scale_options(wanted).pow2,
                traits.chooses_pow2() ? asked : traits.pow2_scales(false))
          << traits.title;
    }
  }
}

/// What the table of recipes says, and what the kernels that it is about write.
TEST(OperandLayout, AgreesWithTheTraitsOfItsRecipe) {
  constexpr std::int64_t kRows = 1024;
  constexpr std::int64_t kColumns = 4096;
  const std::vector<std::int64_t> splits = {kRows};
  for (const Recipe& recipe : kRecipes) {
    const RecipeTraits& traits = traits_of(recipe);
    for (const OperandRole role : {OperandRole::Activations, OperandRole::Weights}) {
      const OperandExtent extent{.capacity_rows = kRows, .num_groups = 1, .columns = kColumns};
      const OperandLayout rowwise = operand_layout(recipe, role, Direction::Rowwise, extent);
      const OperandLayout columnwise = operand_layout(recipe, role, Direction::Columnwise, extent);
      const bool square = role == OperandRole::Weights && recipe.square_weight_blocks;
      const double bytes =
          static_cast<double>(written_code_bytes(rowwise, splits, kColumns)) +
          (traits.per_tensor()
               ? 0.0
               : static_cast<double>(written_scale_bytes(rowwise, splits, kColumns)));
      EXPECT_DOUBLE_EQ(bytes / (kRows * kColumns),
                       traits.element_bytes(square && traits.square_weights))
          << traits.title;
      const ScaleGrid grid = scale_grid(rowwise, kRows, kColumns);
      EXPECT_EQ(grid.block_columns, traits.per_tensor() ? kColumns : traits.block) << traits.title;
      EXPECT_EQ(rowwise.per_tensor(), traits.per_tensor());
      EXPECT_EQ(rowwise.fp32_scales(), traits.fp32_scales());
      EXPECT_EQ(rowwise.e2m1(), !traits.chooses_format());
      EXPECT_EQ(amax_count(rowwise, 1) == 1, traits.per_tensor() || traits.expert_amax());
      EXPECT_FALSE(rowwise.transposed);
      EXPECT_EQ(columnwise.transposed, traits.transposed_columnwise);
    }
  }
  EXPECT_NE(quantize_refusal({.scaling = Scaling::None}), "");
}

TEST(OperandLayout, CapacityHoldsEveryRouting) {
  const std::vector<std::vector<std::int64_t>> routings = {{1000},
                                                           {0, 1000, 0},
                                                           {1, 1, 1, 997},
                                                           {127, 129, 15, 17, 0, 712},
                                                           {250, 250, 250, 250},
                                                           std::vector<std::int64_t>(1000, 1)};
  for (const std::int64_t columns : {16, 144, 2880}) {
    for (const std::vector<std::int64_t>& splits : routings) {
      const OperandExtent extent{
          .capacity_rows = 1000, .num_groups = static_cast<int>(splits.size()), .columns = columns};
      for_each_layout(extent, [&](const OperandLayout& layout) {
        std::int64_t span = 0;
        for (const std::int64_t rows : splits) span += scale_grid(layout, rows, columns).span;
        const std::int64_t bytes = layout.fp32_scales() ? 4 : 1;
        EXPECT_LE(span * bytes, layout.scale_capacity);
        EXPECT_LE(written_scale_bytes(layout, splits, columns), layout.scale_capacity);
        EXPECT_LE(written_code_bytes(layout, splits, columns), layout.code_capacity);
      });
    }
  }
}

TEST(OperandLayout, BlocksCoverTheGroupAndEachScaleHasItsPlace) {
  for (const std::int64_t rows : {1, 15, 16, 31, 33, 127, 128, 129, 300}) {
    for (const std::int64_t columns : {16, 48, 144, 272}) {
      for_each_layout({.capacity_rows = rows, .num_groups = 1, .columns = columns},
                      [&](const OperandLayout& layout) {
                        const ScaleGrid grid = scale_grid(layout, rows, columns);
                        EXPECT_GE(grid.rows * grid.block_rows, rows);
                        EXPECT_LT((grid.rows - 1) * grid.block_rows, rows);
                        EXPECT_GE(grid.columns * grid.block_columns, columns);
                        EXPECT_LT((grid.columns - 1) * grid.block_columns, columns);
                        std::set<std::int64_t> places;
                        for (std::int64_t r = 0; r < grid.rows; ++r) {
                          for (std::int64_t c = 0; c < grid.columns; ++c) {
                            const std::int64_t at = r * grid.row_stride + c * grid.column_stride;
                            EXPECT_LT(at, grid.span);
                            EXPECT_TRUE(places.insert(at).second) << "two blocks, one scale";
                          }
                        }
                      });
    }
  }
}

OperandLayout layout_of(const Recipe& recipe, OperandRole role, Direction direction) {
  return operand_layout(recipe, role, direction,
                        {.capacity_rows = 256, .num_groups = 1, .columns = 512});
}

TEST(OperandLayout, BitsPerElementFollowTheRecipe) {
  const std::vector<std::int64_t> splits = {256};
  const auto bits = [&](const Recipe& recipe, OperandRole role) {
    const OperandLayout layout = layout_of(recipe, role, Direction::Rowwise);
    return 8.0 *
           static_cast<double>(written_code_bytes(layout, splits, 512) +
                               written_scale_bytes(layout, splits, 512)) /
           (256 * 512);
  };
  EXPECT_EQ(bits({.scaling = Scaling::Block}, OperandRole::Activations), 8.25);
  EXPECT_EQ(bits({.scaling = Scaling::Block}, OperandRole::Weights), 8.0 + 32.0 / 16384);
  EXPECT_EQ(bits({.scaling = Scaling::Mxfp8}, OperandRole::Activations), 8.25);
  EXPECT_EQ(bits({.scaling = Scaling::Nvfp4}, OperandRole::Activations), 4.5);
}

TEST(OperandLayout, WeightsAreE4m3AndNeverTransformed) {
  const Recipe recipe{.scaling = Scaling::Nvfp4,
                      .activation_format = Fp8Format::E5m2,
                      .square_weight_blocks = false};
  const auto layout = [&](OperandRole role, Direction direction) {
    return layout_of(recipe, role, direction);
  };
  EXPECT_TRUE(layout(OperandRole::Activations, Direction::Columnwise).hadamard);
  EXPECT_FALSE(layout(OperandRole::Activations, Direction::Rowwise).hadamard);
  EXPECT_FALSE(layout(OperandRole::Weights, Direction::Columnwise).hadamard);
  EXPECT_EQ(layout(OperandRole::Weights, Direction::Rowwise).format, Fp8Format::E4m3);
  EXPECT_EQ(layout(OperandRole::Activations, Direction::Rowwise).format, Fp8Format::E5m2);
  EXPECT_EQ(layout_of({.scaling = Scaling::Mxfp8}, OperandRole::Weights, Direction::Rowwise).scales,
            ScaleLayout::Mx32x32);
  EXPECT_EQ(
      layout_of({.scaling = Scaling::Mxfp8}, OperandRole::Activations, Direction::Rowwise).scales,
      ScaleLayout::Mx1x32);
}

}  // namespace
}  // namespace engine
