#include "engine/quantize/operand_layout.h"

#include <algorithm>
#include <numeric>

#include "engine/model/recipe_traits.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_mxfp8.h"
#include "kernels/quantize/quantize_nvfp4.h"

namespace engine {
namespace {

using kernels::ceil_div;
using kernels::Direction;
using kernels::round_up;
using kernels::ScaleLayout;

/// The kernel that quantizes an operand, and the layout of its scales.
struct LayoutChoice {
  QuantizeKernel kernel;
  ScaleLayout scales;
};

LayoutChoice layout_choice(const RecipeTraits& traits, bool square) {
  switch (traits.scale) {
    case ScaleNumber::E8m0:
      return {QuantizeKernel::Mxfp8, square ? ScaleLayout::Mx32x32 : ScaleLayout::Mx1x32};
    case ScaleNumber::E4m3:
      return {QuantizeKernel::Nvfp4, square ? ScaleLayout::Nv16x16 : ScaleLayout::Nv1x16};
    case ScaleNumber::Fp32:
      if (traits.per_tensor()) break;
      return {QuantizeKernel::Block, square ? ScaleLayout::BlockSquare : ScaleLayout::BlockLine};
    case ScaleNumber::None:
      break;
  }
  return {QuantizeKernel::PerTensor, ScaleLayout::PerTensor};
}

bool square_blocks(const Recipe& recipe, OperandRole role) {
  const RecipeTraits& traits = traits_of(recipe);
  switch (role) {
    case OperandRole::Activations:
      return traits.square_activations && recipe.square_activation_blocks;
    case OperandRole::Weights:
      return traits.square_weights && recipe.square_weight_blocks;
    case OperandRole::Gradients:
      return traits.square_activations && recipe.square_gradient_blocks;
  }
  return false;
}

std::int64_t scale_capacity(const OperandLayout& layout, const OperandExtent& extent) {
  const auto [rows, groups, columns] = extent;
  const bool rowwise = layout.direction == Direction::Rowwise;
  constexpr std::int64_t kFloat = sizeof(float);
  switch (layout.kernel) {
    case QuantizeKernel::PerTensor:
      return kFloat * groups;
    case QuantizeKernel::Block:
      if (layout.square) {
        return kFloat *
               (rowwise ? kernels::block_square_scale_capacity(rows, groups, columns, layout.block)
                        : kernels::block_square_columnwise_scale_capacity(rows, groups, columns,
                                                                          layout.block));
      }
      return kFloat * (rowwise
                           ? kernels::block_line_scale_capacity(rows, groups, columns, layout.block)
                           : kernels::block_line_columnwise_scale_capacity(rows, groups, columns,
                                                                           layout.block));
    case QuantizeKernel::Mxfp8:
    case QuantizeKernel::Nvfp4:
      break;
  }
  const std::int64_t block = layout.e2m1() ? kernels::kNvBlock : kernels::kMxBlock;
  return rowwise ? kernels::micro_rowwise_scale_capacity(rows, groups, columns, block)
                 : kernels::micro_columnwise_scale_capacity(rows, groups, columns, block);
}

}  // namespace

std::string quantize_refusal(const Recipe& recipe) {
  if (traits_of(recipe).quantizes()) return {};
  return "BF16 quantizes nothing; choose an FP8 or FP4 recipe";
}

kernels::ScaleOptions scale_options(const Recipe& recipe) {
  return {.pow2 = traits_of(recipe).pow2_scales(recipe.pow2_scales),
          .amax_epsilon = recipe.amax_epsilon};
}

kernels::Fp8Format operand_format(const Recipe& recipe, OperandRole role) {
  switch (role) {
    case OperandRole::Activations:
      return recipe.activation_format;
    case OperandRole::Gradients:
      return recipe.gradient_format;
    case OperandRole::Weights:
      break;
  }
  return kernels::Fp8Format::E4m3;
}

OperandLayout operand_layout(const Recipe& recipe, OperandRole role, Direction direction,
                             const OperandExtent& extent) {
  const RecipeTraits& traits = traits_of(recipe);
  const bool square = square_blocks(recipe, role);
  const bool columnwise = direction == Direction::Columnwise;
  const LayoutChoice choice = layout_choice(traits, square);
  OperandLayout layout{
      .kernel = choice.kernel,
      .scales = choice.scales,
      .direction = direction,
      .format = operand_format(recipe, role),
      .block = traits.block,
      .square = square,
      .transposed = columnwise && traits.transposed_columnwise,
      .hadamard = traits.hadamard && recipe.hadamard && columnwise && role != OperandRole::Weights};
  const std::int64_t elements = extent.capacity_rows * extent.columns;
  layout.code_capacity = elements;
  if (layout.e2m1()) {
    layout.code_capacity = direction == Direction::Rowwise
                               ? elements / 2
                               : kernels::nvfp4_columnwise_code_capacity(
                                     extent.capacity_rows, extent.num_groups, extent.columns);
  }
  layout.scale_capacity = scale_capacity(layout, extent);
  return layout;
}

std::int64_t written_code_bytes(const OperandLayout& layout, std::span<const std::int64_t> splits,
                                std::int64_t columns) {
  std::int64_t bytes = 0;
  for (const std::int64_t rows : splits) {
    const bool padded = layout.e2m1() && layout.direction == Direction::Columnwise;
    bytes += columns * (padded ? round_up(rows, kernels::kNvBlock) : rows);
  }
  return layout.e2m1() ? bytes / 2 : bytes;
}

std::int64_t written_scale_bytes(const OperandLayout& layout, std::span<const std::int64_t> splits,
                                 std::int64_t columns) {
  // Padding between one-byte scales is written too, as 0.
  if (!layout.fp32_scales()) return scale_count(layout, splits, columns);
  std::int64_t scales = 0;
  for (const std::int64_t rows : splits) {
    const ScaleGrid grid = scale_grid(layout, rows, columns);
    scales += grid.rows * grid.columns;
  }
  return scales * std::int64_t{sizeof(float)};
}

std::int64_t copy_bytes(const Recipe& recipe, kernels::Direction direction,
                        const CopyExtent& extent) {
  const RecipeTraits& traits = traits_of(recipe);
  const std::int64_t rows =
      std::accumulate(extent.splits.begin(), extent.splits.end(), std::int64_t{0});
  if (!traits.quantizes()) return rows * extent.columns * element_bytes(recipe.high_precision);
  const int groups = static_cast<int>(extent.splits.size());
  const OperandLayout layout =
      operand_layout(recipe, extent.role, direction,
                     {.capacity_rows = rows, .num_groups = groups, .columns = extent.columns});
  const std::int64_t amax = traits.expert_amax() ? groups * std::int64_t{sizeof(float)} : 0;
  return written_code_bytes(layout, extent.splits, extent.columns) +
         written_scale_bytes(layout, extent.splits, extent.columns) + amax;
}

std::int64_t scale_count(const OperandLayout& layout, std::span<const std::int64_t> splits,
                         std::int64_t columns) {
  std::int64_t scales = 0;
  for (const std::int64_t rows : splits) scales += scale_grid(layout, rows, columns).span;
  return scales;
}

std::int64_t amax_count(const OperandLayout& layout, int num_groups) {
  if (layout.fp32_scales()) return layout.scale_capacity / std::int64_t{sizeof(float)};
  return layout.e2m1() ? num_groups : 0;
}

ScaleGrid scale_grid(const OperandLayout& layout, std::int64_t rows, std::int64_t columns) {
  const bool rowwise = layout.direction == Direction::Rowwise;
  const auto micro = [&](std::int64_t block) -> ScaleGrid {
    if (rowwise) {
      const std::int64_t blocks = ceil_div(columns, block);
      return {.rows = rows,
              .columns = blocks,
              .row_stride = round_up(blocks, 4),
              .column_stride = 1,
              .span = kernels::micro_scale_bytes(rows, columns, block),
              .block_columns = block};
    }
    const std::int64_t blocks = ceil_div(rows, block);
    // NVFP4 keeps columnwise scales as those of the transposed group.
    return {.rows = blocks,
            .columns = columns,
            .row_stride = layout.e2m1() ? 1 : round_up(columns, 128),
            .column_stride = layout.e2m1() ? round_up(blocks, 4) : 1,
            .span = kernels::micro_scale_bytes(columns, rows, block),
            .block_rows = block};
  };
  switch (layout.kernel) {
    case QuantizeKernel::PerTensor:
      break;
    case QuantizeKernel::Block: {
      const std::int64_t bx = ceil_div(columns, layout.block);
      const std::int64_t by = ceil_div(rows, layout.block);
      if (layout.square) {
        const std::int64_t pitch = round_up(rowwise ? bx : by, 4);
        return {.rows = by,
                .columns = bx,
                .row_stride = rowwise ? pitch : 1,
                .column_stride = rowwise ? 1 : pitch,
                .span = (rowwise ? by : bx) * pitch,
                .block_rows = layout.block,
                .block_columns = layout.block};
      }
      if (rowwise) {
        const std::int64_t pitch = round_up(rows, 4);
        return {.rows = rows,
                .columns = bx,
                .row_stride = 1,
                .column_stride = pitch,
                .span = bx * pitch,
                .block_columns = layout.block};
      }
      return {.rows = by,
              .columns = columns,
              .row_stride = round_up(columns, 4),
              .column_stride = 1,
              .span = by * round_up(columns, 4),
              .block_rows = layout.block};
    }
    case QuantizeKernel::Mxfp8:
      return micro(kernels::kMxBlock);
    case QuantizeKernel::Nvfp4:
      return micro(kernels::kNvBlock);
  }
  return {.rows = 1,
          .columns = 1,
          .span = 1,
          .block_rows = std::max<std::int64_t>(rows, 1),
          .block_columns = columns};
}

GroupStride code_stride(const OperandLayout& layout, std::int64_t columns) {
  if (!layout.e2m1()) return {.unit = 1, .bytes = columns};
  if (layout.direction == Direction::Rowwise) return {.unit = 1, .bytes = columns / 2};
  return {.unit = kernels::kNvBlock, .bytes = columns * kernels::kNvBlock / 2};
}

GroupStride scale_stride(const OperandLayout& layout, std::int64_t columns) {
  const bool rowwise = layout.direction == Direction::Rowwise;
  std::int64_t unit = 0;
  switch (layout.kernel) {
    case QuantizeKernel::PerTensor:
      return {.unit = 0, .bytes = sizeof(float)};
    case QuantizeKernel::Block:
      unit = rowwise ? 4 : layout.block;
      if (layout.square) unit = rowwise ? layout.block : 4 * layout.block;
      break;
    case QuantizeKernel::Mxfp8:
      unit = 128;  // rows are padded to 128; four blocks of 32 rows to a word
      break;
    case QuantizeKernel::Nvfp4:
      unit = rowwise ? 128 : 4 * kernels::kNvBlock;
      break;
  }
  const std::int64_t span = scale_grid(layout, unit, columns).span;
  return {.unit = unit, .bytes = span * (layout.fp32_scales() ? std::int64_t{sizeof(float)} : 1)};
}

kernels::QuantizedView quantized_view(const OperandLayout& layout, const OperandExtent& extent,
                                      const QuantizedArrays& arrays) {
  return {.codes = arrays.codes,
          .format = layout.format,
          .layout = layout.scales,
          .block = layout.block,
          .direction = layout.direction,
          .hadamard = layout.hadamard,
          .scales = arrays.scales,
          .amax = arrays.amax,
          .row_offsets = arrays.row_offsets,
          .num_groups = extent.num_groups,
          .capacity_rows = extent.capacity_rows,
          .columns = extent.columns};
}

}  // namespace engine
