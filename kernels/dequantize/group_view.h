// Where the code and the scale of an element lie, relative to one group of a QuantizedView: the
// only place from which dequantize, statistics and code samples read layouts, on the host and on
// the device.
#pragma once

#include <bit>
#include <vector>

#include "kernels/common/micro_scales.h"
#include "kernels/dequantize/quantized_view.h"

namespace kernels {

enum class ScaleKind { Fp32, E8m0, E4m3 };

KERNELS_HOST_DEVICE constexpr bool is_mxfp8(ScaleLayout layout) {
  return layout == ScaleLayout::Mx1x32 || layout == ScaleLayout::Mx32x32;
}
KERNELS_HOST_DEVICE constexpr bool is_nvfp4(ScaleLayout layout) {
  return layout == ScaleLayout::Nv1x16 || layout == ScaleLayout::Nv16x16;
}
/// One-byte scales; the other layouts have FP32 ones.
KERNELS_HOST_DEVICE constexpr bool has_micro_scales(ScaleLayout layout) {
  return is_mxfp8(layout) || is_nvfp4(layout);
}

/// `block` is a power of two.
KERNELS_HOST_DEVICE inline int block_shift(int block) {
#ifdef __CUDA_ARCH__
  return __ffs(block) - 1;
#else
  return std::countr_zero(static_cast<unsigned>(block));
#endif
}

/// Blocks that cover `count` elements.
KERNELS_HOST_DEVICE inline std::int64_t blocks_of(std::int64_t count, int block) {
  return (count + block - 1) >> block_shift(block);
}

/// One group. Rows are counted inside it, scales in their own units (floats or bytes).
struct GroupView {
  const std::uint8_t* codes = nullptr;  // of the group; E2M1: two per byte, the even one low
  const void* scales = nullptr;         // of the group
  float amax = 0.0F;                    // NVFP4
  ScaleKind kind = ScaleKind::Fp32;
  bool swizzled = false;
  bool columnwise = false;
  std::int64_t rows = 0;
  std::int64_t row_pitch = 0;  // elements from a code to the one in the next row
  std::int64_t column_pitch = 0;
  int row_shift = 62;  // row >> row_shift, column >> column_shift index the block of a scale
  int column_shift = 62;
  std::int64_t scale_row_pitch = 0;  // scales from a block to the one below, unless swizzled
  std::int64_t scale_column_pitch = 0;
  std::int64_t scales_per_line = 0;  // swizzled

  KERNELS_HOST_DEVICE bool e2m1() const { return kind == ScaleKind::E4m3; }
  KERNELS_HOST_DEVICE bool transposed() const { return row_pitch == 1; }

  KERNELS_HOST_DEVICE std::uint8_t code(std::int64_t row, std::int64_t column) const {
    const std::int64_t element = row * row_pitch + column * column_pitch;
    if (!e2m1()) return codes[element];
    return static_cast<std::uint8_t>((codes[element / 2] >> (element % 2 * 4)) & 0xF);
  }

  KERNELS_HOST_DEVICE std::int64_t scale_index(std::int64_t row, std::int64_t column) const {
    const std::int64_t down = row >> row_shift;
    const std::int64_t across = column >> column_shift;
    if (!swizzled) return down * scale_row_pitch + across * scale_column_pitch;
    return columnwise ? swizzled_scale_index(across, down, scales_per_line)
                      : swizzled_scale_index(down, across, scales_per_line);
  }
};

/// Bytes from the codes of a group with this many rows to those of the next one.
KERNELS_HOST_DEVICE inline std::int64_t group_code_bytes(const QuantizedView& view,
                                                         std::int64_t rows) {
  if (view.joined) return rows;  // in every line
  if (!is_nvfp4(view.layout)) return rows * view.columns;
  const bool padded = view.direction == Direction::Columnwise;
  return (padded ? (rows + 15) / 16 * 16 : rows) * view.columns / 2;
}

/// Scales (floats or bytes) of a group with this many rows, padding included.
KERNELS_HOST_DEVICE inline std::int64_t group_scale_span(const QuantizedView& view,
                                                         std::int64_t rows) {
  const bool rowwise = view.direction == Direction::Rowwise;
  if (view.layout == ScaleLayout::PerTensor) return 1;
  const std::int64_t across = blocks_of(view.columns, view.block);
  const std::int64_t down = blocks_of(rows, view.block);
  if (view.layout == ScaleLayout::BlockLine) {
    return rowwise ? across * ((rows + 3) / 4 * 4) : down * ((view.columns + 3) / 4 * 4);
  }
  if (view.layout == ScaleLayout::BlockSquare) {
    return rowwise ? down * ((across + 3) / 4 * 4) : across * ((down + 3) / 4 * 4);
  }
  const std::int64_t block = is_nvfp4(view.layout) ? 16 : 32;
  return rowwise ? micro_scale_bytes(rows, view.columns, block)
                 : micro_scale_bytes(view.columns, rows, block);
}

/// `first_scale` and `first_code`: the sizes of the groups before it.
KERNELS_HOST_DEVICE inline GroupView group_view(const QuantizedView& view, int group,
                                                std::int64_t rows, std::int64_t first_scale,
                                                std::int64_t first_code) {
  const bool columnwise = view.direction == Direction::Columnwise;
  const std::int64_t columns = view.columns;
  GroupView result;
  result.codes = view.codes + first_code;
  result.columnwise = columnwise;
  result.rows = rows;
  result.row_pitch = columnwise ? 1 : columns;
  result.column_pitch = columnwise ? rows : 1;
  if (has_micro_scales(view.layout)) {
    const bool e2m1 = is_nvfp4(view.layout);
    const int shift = e2m1 ? 4 : 5;
    const std::int64_t block = std::int64_t{1} << shift;
    const std::int64_t blocks = ((columnwise ? rows : columns) + block - 1) / block;
    result.scales = static_cast<const std::uint8_t*>(view.scales) + first_scale;
    result.kind = e2m1 ? ScaleKind::E4m3 : ScaleKind::E8m0;
    result.amax = e2m1 && view.amax != nullptr ? view.amax[group] : 0.0F;
    result.swizzled = view.micro_layout == MicroScaleLayout::Swizzled;
    result.scales_per_line = blocks;
    result.row_shift = columnwise ? shift : 0;
    result.column_shift = columnwise ? 0 : shift;
    const std::int64_t line = (blocks + 3) / 4 * 4;
    result.scale_row_pitch = columnwise ? 1 : line;
    result.scale_column_pitch = columnwise ? line : 1;
    if (e2m1) {
      if (columnwise) result.column_pitch = (rows + 15) / 16 * 16;
    } else {
      // MXFP8 codes are never transposed, and the compact columnwise scales are laid out like them.
      result.row_pitch = columns;
      result.column_pitch = 1;
      if (columnwise) {
        result.scale_row_pitch = (columns + 127) / 128 * 128;
        result.scale_column_pitch = 1;
      }
    }
    return result;
  }
  result.scales = static_cast<const float*>(view.scales) + first_scale;
  if (view.layout == ScaleLayout::PerTensor) return result;
  const int shift = block_shift(view.block);
  const std::int64_t across = blocks_of(columns, view.block);
  const std::int64_t down = blocks_of(rows, view.block);
  if (view.layout == ScaleLayout::BlockLine) {
    if (view.joined) result.column_pitch = view.capacity_rows;
    result.row_shift = columnwise ? shift : 0;
    result.column_shift = columnwise ? 0 : shift;
    // Rowwise scales are stored transposed: all rows of a column block are adjacent.
    result.scale_row_pitch = columnwise ? (columns + 3) / 4 * 4 : 1;
    result.scale_column_pitch = columnwise ? 1 : (rows + 3) / 4 * 4;
  } else {
    result.row_shift = result.column_shift = shift;
    result.scale_row_pitch = columnwise ? 1 : (across + 3) / 4 * 4;
    result.scale_column_pitch = columnwise ? (down + 3) / 4 * 4 : 1;
  }
  return result;
}

/// Index of an element's scale among those of all groups.
KERNELS_HOST_DEVICE inline std::int64_t scale_index(const QuantizedView& view,
                                                    const GroupView& group, std::int64_t row,
                                                    std::int64_t column) {
  const auto bytes = static_cast<const std::uint8_t*>(group.scales) -
                     static_cast<const std::uint8_t*>(view.scales);
  const std::int64_t first = group.kind == ScaleKind::Fp32 ? bytes / 4 : bytes;
  return first + group.scale_index(row, column);
}

/// Views of all groups, on the host.
inline std::vector<GroupView> group_views(const QuantizedView& view) {
  std::vector<GroupView> groups;
  std::int64_t first_scale = 0;
  std::int64_t first_code = 0;
  groups.reserve(static_cast<std::size_t>(view.num_groups));
  for (int group = 0; group < view.num_groups; ++group) {
    const std::int64_t rows = view.row_offsets[group + 1] - view.row_offsets[group];
    groups.push_back(group_view(view, group, rows, first_scale, first_code));
    first_scale += group_scale_span(view, rows);
    first_code += group_code_bytes(view, rows);
  }
  return groups;
}

}  // namespace kernels
