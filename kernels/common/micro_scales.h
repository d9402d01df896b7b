// Layouts of the one-byte scales of MXFP8 (1x32 blocks, E8M0) and NVFP4 (1x16 blocks, E4M3):
// GEMM-ready (swizzled) or compact. Source: cuBLASLt's block-scaling layouts, checked against
// Transformer Engine's behaviour.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/types.h"

namespace kernels {

/// Along the quantized direction, the `inner` elements of a line share scales block by block;
/// `outer` counts the lines. Rowwise: outer = rows of the group, inner = columns. Columnwise: outer
/// = columns, inner = rows of the group.
///   Swizzled: tiles of 128 lines x 4 scales, 512 bytes each, in row-major order of tiles.
///   Compact rowwise:    [round_up(outer, 128), round_up(ceil_div(inner, block), 4)] row-major.
///   Compact columnwise: [round_up(ceil_div(inner, block), 4), round_up(outer, 128)] row-major,
///                       except NVFP4, whose columnwise codes are transposed: as rowwise.
/// Both layouts take the same number of bytes per group; groups are contiguous. Bytes of a group
/// that belong to no block are written as 0.
enum class MicroScaleLayout { Compact, Swizzled };

KERNELS_HOST_DEVICE constexpr std::int64_t micro_scale_bytes(std::int64_t outer, std::int64_t inner,
                                                             std::int64_t block) {
  return (outer + 127) / 128 * 128 * (((inner + block - 1) / block + 3) / 4 * 4);
}

/// Byte offset of scale `x` of line `y` inside a group's swizzled scales; scales_per_line =
/// ceil_div(inner, block).
KERNELS_HOST_DEVICE constexpr std::int64_t swizzled_scale_index(std::int64_t y, std::int64_t x,
                                                                std::int64_t scales_per_line) {
  const std::int64_t tiles_per_line = (scales_per_line + 3) / 4;
  return (y / 128 * tiles_per_line + x / 4) * 512 + y % 32 * 16 + y / 32 % 4 * 4 + x % 4;
}

/// Bytes that suffice for the scales of any routing of capacity_rows over num_groups.
constexpr std::int64_t micro_rowwise_scale_capacity(std::int64_t capacity_rows, int num_groups,
                                                    std::int64_t columns, std::int64_t block) {
  return (capacity_rows / 128 + num_groups) * 128 * round_up(ceil_div(columns, block), 4);
}
constexpr std::int64_t micro_columnwise_scale_capacity(std::int64_t capacity_rows, int num_groups,
                                                       std::int64_t columns, std::int64_t block) {
  return round_up(columns, 128) * (capacity_rows / (4 * block) + num_groups) * 4;
}

/// Where the one-byte scales of each group start, on the host.
class MicroScaleBases {
 public:
  MicroScaleBases(const std::int64_t* row_offsets, int num_groups, std::int64_t columns,
                  std::int64_t block) {
    for (int group = 0; group < num_groups; ++group) {
      const std::int64_t m = row_offsets[group + 1] - row_offsets[group];
      rowwise_.push_back(rowwise_.back() + micro_scale_bytes(m, columns, block));
      columnwise_.push_back(columnwise_.back() + micro_scale_bytes(columns, m, block));
    }
  }

  /// Byte offset of the group's first scale.
  std::int64_t rowwise(int group) const { return rowwise_[static_cast<std::size_t>(group)]; }
  std::int64_t columnwise(int group) const { return columnwise_[static_cast<std::size_t>(group)]; }

 private:
  std::vector<std::int64_t> rowwise_ = {0};
  std::vector<std::int64_t> columnwise_ = {0};
};

}  // namespace kernels
