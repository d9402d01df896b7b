// The result of quantizing one operand in one direction under a recipe: kernel, sizes, and layout
// for reading. Sizes come from the capacity alone or, exactly, from splits. No CUDA.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "engine/input/tensor_source.h"
#include "engine/model/run_request.h"
#include "kernels/dequantize/quantized_view.h"

namespace engine {

enum class QuantizeKernel { PerTensor, Block, Mxfp8, Nvfp4 };

/// Rows a kernel may see, how many groups they belong to, and the columns of each.
struct OperandExtent {
  std::int64_t capacity_rows = 0;
  int num_groups = 0;
  std::int64_t columns = 0;
};

struct OperandLayout {
  QuantizeKernel kernel = QuantizeKernel::PerTensor;
  kernels::ScaleLayout scales = kernels::ScaleLayout::PerTensor;
  kernels::Direction direction = kernels::Direction::Rowwise;
  kernels::Fp8Format format = kernels::Fp8Format::E4m3;  // of FP8 codes
  int block = 0;                                         // RecipeTraits::block; Block: its side
  bool square = false;                                   // one scale for a square block
  bool transposed = false;          // lines of codes are columns of the operand
  bool hadamard = false;            // NVFP4: these codes are of the transformed elements
  std::int64_t code_capacity = 0;   // bytes for any routing
  std::int64_t scale_capacity = 0;  // bytes for any routing

  bool per_tensor() const { return kernel == QuantizeKernel::PerTensor; }
  bool e2m1() const { return kernel == QuantizeKernel::Nvfp4; }
  bool fp32_scales() const {
    return kernel != QuantizeKernel::Mxfp8 && kernel != QuantizeKernel::Nvfp4;
  }
};

/// Why this recipe has nothing to quantize, on either side; empty if it has.
std::string quantize_refusal(const Recipe& recipe);

/// How the FP32 scales of a recipe are made.
kernels::ScaleOptions scale_options(const Recipe& recipe);

/// Format of FP8 codes; weights are always E4M3.
kernels::Fp8Format operand_format(const Recipe& recipe, OperandRole role);

/// The Hadamard transform is for the columnwise copy of activations and gradients; the
/// columnwise copy of weights is multiplied by untransformed operands. Scaling::None has no
/// layout.
OperandLayout operand_layout(const Recipe& recipe, OperandRole role, kernels::Direction direction,
                             const OperandExtent& extent);

/// Bytes that the kernel writes for these splits (rows of every group).
std::int64_t written_code_bytes(const OperandLayout& layout, std::span<const std::int64_t> splits,
                                std::int64_t columns);
std::int64_t written_scale_bytes(const OperandLayout& layout, std::span<const std::int64_t> splits,
                                 std::int64_t columns);

/// One tensor and its groups: `splits` rows of each, all of `columns`.
struct CopyExtent {
  OperandRole role = OperandRole::Activations;
  std::span<const std::int64_t> splits;
  std::int64_t columns = 0;
};

/// Bytes of one copy as a product reads it: codes, scales and, of NVFP4, the amax of every expert;
/// elements in high precision where the recipe quantizes nothing. Without the padding that a
/// device's products want between experts.
std::int64_t copy_bytes(const Recipe& recipe, kernels::Direction direction,
                        const CopyExtent& extent);

/// Floats of amax that quantizing leaves: one per group or one per scale; MXFP8 leaves none.
std::int64_t amax_count(const OperandLayout& layout, int num_groups);

/// The scales of one group, seen as blocks of its elements: scale of block (r, c) at index r *
/// row_stride + c * column_stride, in floats or bytes.
struct ScaleGrid {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t span = 0;        // from one group to the next, padding included
  std::int64_t block_rows = 1;  // elements that one entry of the grid covers
  std::int64_t block_columns = 1;
};
/// Grid of the scales of a group of `rows` rows. The square blocks of MXFP8 and NVFP4 repeat their
/// scale on the grid of the plain ones. One scale per tensor covers the whole group.
ScaleGrid scale_grid(const OperandLayout& layout, std::int64_t rows, std::int64_t columns);

/// Scales (floats or bytes) that an array for these splits spans, padding included.
std::int64_t scale_count(const OperandLayout& layout, std::span<const std::int64_t> splits,
                         std::int64_t columns);

/// A scale that covers elements.
struct ScalePlace {
  std::int64_t index = 0;  // in the array of all groups
  std::size_t group = 0;
  std::int64_t row = 0;  // among the scales of all groups
  std::int64_t column = 0;
  std::int64_t elements = 0;  // that it covers: fewer at the edges
};

/// Calls visit(ScalePlace) for every scale that covers elements: padding and groups without rows,
/// which a per-tensor scale may have too, are left out. Group by group, each in the order of its
/// array.
template <class Visit>
void for_each_scale(const OperandLayout& layout, std::span<const std::int64_t> splits,
                    std::int64_t columns, const Visit& visit) {
  std::int64_t first_row = 0;
  std::int64_t first = 0;
  for (std::size_t group = 0; group < splits.size(); ++group) {
    const std::int64_t rows = splits[group];
    const ScaleGrid grid = scale_grid(layout, rows, columns);
    const std::int64_t grid_rows = rows == 0 ? 0 : grid.rows;
    const auto one = [&](std::int64_t row, std::int64_t column) {
      visit(ScalePlace{
          .index = first + row * grid.row_stride + column * grid.column_stride,
          .group = group,
          .row = first_row + row,
          .column = column,
          .elements = std::min(grid.block_rows, rows - row * grid.block_rows) *
                      std::min(grid.block_columns, columns - column * grid.block_columns)});
    };
    // The inner loop has the smaller stride: rowwise 1x128 scales are stored column by column.
    if (grid.row_stride < grid.column_stride) {
      for (std::int64_t column = 0; column < grid.columns; ++column) {
        for (std::int64_t row = 0; row < grid_rows; ++row) one(row, column);
      }
    } else {
      for (std::int64_t row = 0; row < grid_rows; ++row) {
        for (std::int64_t column = 0; column < grid.columns; ++column) one(row, column);
      }
    }
    first += grid.span;
    first_row += grid_rows;
  }
}

/// How far a group moves the ones after it: `bytes` for every `unit` rows begun.
struct GroupStride {
  std::int64_t unit = 1;
  std::int64_t bytes = 0;
};
/// Strides of the codes and scales of operands whose groups differ in rows; with padding, `rows`
/// are the rows of the output. One scale per tensor moves by 4 bytes per group instead: unit 0.
GroupStride code_stride(const OperandLayout& layout, std::int64_t columns);
GroupStride scale_stride(const OperandLayout& layout, std::int64_t columns);

/// Where the arrays of an operand are, on whichever side they are read.
struct QuantizedArrays {
  const std::uint8_t* codes = nullptr;
  const void* scales = nullptr;
  const float* amax = nullptr;  // [num_groups], NVFP4
  const std::int64_t* row_offsets = nullptr;
};

kernels::QuantizedView quantized_view(const OperandLayout& layout, const OperandExtent& extent,
                                      const QuantizedArrays& arrays);

}  // namespace engine
