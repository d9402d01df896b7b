// How device code goes over a QuantizedView: 128 x 128 tiles that never straddle groups, each with
// its GroupView and the factors of its blocks in shared memory. Dequantize and the statistics walk
// the same way.
#pragma once

#include "kernels/common/strip_table.cuh"  // kMaxGroups
#include "kernels/common/sum_table.cuh"
#include "kernels/dequantize/decode_rule.h"

namespace kernels {

inline constexpr int kViewTile = 128;
inline constexpr int kViewThreads = 256;

/// Where each group's tiles, scales and columnwise NVFP4 codes start.
struct ViewTables {
  std::int32_t strips[kMaxGroups + 1];        // of kViewTile rows
  std::int32_t scale_units[kMaxGroups + 1];   // of scale_unit() scales
  std::int32_t sixteens[kMaxGroups + 1];      // blocks of 16 rows
  float factors[kViewTile * kViewTile / 16];  // of the present tile
};

/// Spans of FP32 scales are multiples of 4, those of bytes of 512.
__device__ inline std::int64_t scale_unit(const QuantizedView& view) {
  return is_mxfp8(view.layout) || is_nvfp4(view.layout) ? 512 : 4;
}

struct ViewTile {
  int group = 0;
  std::int64_t row = 0;  // inside the group
  std::int64_t column = 0;
  int rows = 0;  // 1..128
  int columns = 0;
  std::int64_t first_row = 0;  // of the group in the plain operand
};

/// Factor of an element of the tile, row and column counted inside it.
__device__ __forceinline__ float tile_factor(const ViewTables& tables, const GroupView& group,
                                             int row, int column) {
  const int across = max(kViewTile >> min(group.column_shift, 7), 1);
  return tables.factors[(row >> min(group.row_shift, 31)) * across +
                        (column >> min(group.column_shift, 31))];
}

__device__ inline void load_tile_factors(const GroupView& group, const ViewTile& tile,
                                         ViewTables& tables) {
  const int row_shift = min(group.row_shift, 7);
  const int column_shift = min(group.column_shift, 7);
  const int across = kViewTile >> column_shift;
  const int count = (kViewTile >> row_shift) * across;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kViewThreads) {
    const int row = (i / across) << row_shift;
    const int column = (i % across) << column_shift;
    if (row < tile.rows && column < tile.columns) {
      tables.factors[i] = factor_at(group, group.scale_index(tile.row + row, tile.column + column));
    }
  }
}

/// Calls visit(tile, group, tables) for the tiles of this thread block, all threads together, the
/// tile's factors ready. `row_offsets` are those of the plain operand. Needs kViewThreads threads;
/// visit may not return early.
template <class Visit>
__device__ void for_each_view_tile(const QuantizedView& view, const std::int64_t* row_offsets,
                                   ViewTables& tables, Visit visit) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (warp == 0) {
    warp_sum_table<1>(tables.strips, row_offsets, view.num_groups,
                      [](int rows) { return (rows + kViewTile - 1) / kViewTile; });
  } else if (warp == 1 && view.layout != ScaleLayout::PerTensor) {
    warp_sum_table<1>(tables.scale_units, view.row_offsets, view.num_groups, [&](int rows) {
      return static_cast<std::int32_t>(group_scale_span(view, rows) / scale_unit(view));
    });
  } else if (warp == 2) {
    warp_sum_table<1>(tables.sixteens, view.row_offsets, view.num_groups,
                      [](int rows) { return (rows + 15) / 16; });
  }
  __syncthreads();
  const std::int64_t across = (view.columns + kViewTile - 1) / kViewTile;
  const std::int64_t tiles = tables.strips[view.num_groups] * across;
  for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const std::int64_t strip = t / across;
    ViewTile tile;
    tile.group = warp_find_group(tables.strips, view.num_groups, strip);
    tile.first_row = row_offsets[tile.group];
    tile.row = (strip - tables.strips[tile.group]) * kViewTile;
    tile.column = t % across * kViewTile;
    const std::int64_t code_rows = view.row_offsets[tile.group + 1] - view.row_offsets[tile.group];
    const std::int64_t plain_rows = row_offsets[tile.group + 1] - tile.first_row;
    tile.rows = static_cast<int>(
        min(std::int64_t{kViewTile}, max(min(plain_rows, code_rows) - tile.row, std::int64_t{0})));
    tile.columns = static_cast<int>(min(std::int64_t{kViewTile}, view.columns - tile.column));
    const std::int64_t first_scale = view.layout == ScaleLayout::PerTensor
                                         ? tile.group
                                         : tables.scale_units[tile.group] * scale_unit(view);
    std::int64_t first_code = view.row_offsets[tile.group] * view.columns;
    if (is_nvfp4(view.layout)) {
      first_code = view.direction == Direction::Columnwise
                       ? tables.sixteens[tile.group] * view.columns * 8
                       : first_code / 2;
    }
    const GroupView group = group_view(view, tile.group, code_rows, first_scale, first_code);
    load_tile_factors(group, tile, tables);
    __syncthreads();
    visit(tile, group, tables);
    __syncthreads();  // the factors are free again
  }
}

}  // namespace kernels
