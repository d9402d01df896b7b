// The result of quantizing one operand in one direction under a recipe: kernel, sizes, and layout
// for reading. Sizes come from the capacity alone or, exactly, from splits. No CUDA.
#pragma once

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

/// Of FP8 codes; weights are always E4M3.
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
/// Of a group of `rows` rows. The square blocks of MXFP8 and NVFP4 repeat their scale on the grid
/// of the plain ones. One scale per tensor covers the whole group.
ScaleGrid scale_grid(const OperandLayout& layout, std::int64_t rows, std::int64_t columns);

/// How far a group moves the ones after it: `bytes` for every `unit` rows begun.
struct GroupStride {
  std::int64_t unit = 1;
  std::int64_t bytes = 0;
};
/// Of the codes and scales of operands whose groups differ in rows; with padding, `rows` are those
/// of the output. One scale per tensor moves by 4 bytes per group instead: unit 0.
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
