// How device code iterates over a QuantizedView: 128 x 128 tiles that never straddle groups, each
// with its GroupView, and the scales of a tile's blocks in shared memory. Shared by dequantize and
// the statistics.
#pragma once

#include "kernels/common/group_tables.cuh"  // kMaxGroups
#include "kernels/dequantize/decode_rule.h"

namespace kernels {

inline constexpr int kViewTile = 128;
inline constexpr int kViewThreads = 256;

inline constexpr int kTileScales = kViewTile * kViewTile / 16;  // at most

/// Where each group's tiles, scales and columnwise NVFP4 codes start.
struct ViewTables {
  std::int32_t strips[kMaxGroups + 1];       // of kViewTile rows
  std::int32_t scale_units[kMaxGroups + 1];  // of scale_unit() scales
  std::int32_t sixteens[kMaxGroups + 1];     // blocks of 16 rows
};

/// Spans of FP32 scales are multiples of 4, spans of byte scales multiples of 512.
__device__ inline std::int64_t scale_unit(const QuantizedView& view) {
  return has_micro_scales(view.layout) ? 512 : 4;
}

struct ViewTile {
  int group = 0;
  std::int64_t row = 0;  // inside the group
  std::int64_t column = 0;
  int rows = 0;  // 1..128
  int columns = 0;
  std::int64_t first_row = 0;  // of the group in the plain operand
};

/// Index of an element's scale in the tile's scales; row and column are relative to the tile.
__device__ __forceinline__ int tile_scale_index(const GroupView& group, int row, int column) {
  const int column_shift = min(group.column_shift, 7);
  return (row >> min(group.row_shift, 7) << (7 - column_shift)) + (column >> column_shift);
}

/// Fills scales[tile_scale_index()] with value(index of the scale in the group), distributed over
/// the threads.
template <class Value>
__device__ __forceinline__ void load_tile_scales(const GroupView& group, const ViewTile& tile,
                                                 float* scales, Value value) {
  const int row_shift = min(group.row_shift, 7);
  const int across_shift = 7 - min(group.column_shift, 7);
  const int count = (kViewTile >> row_shift) << across_shift;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kViewThreads) {
    const int row = (i >> across_shift) << row_shift;
    const int column = (i & ((1 << across_shift) - 1)) << (7 - across_shift);
    if (row < tile.rows && column < tile.columns) {
      scales[i] = value(group.scale_index(tile.row + row, tile.column + column));
    }
  }
}

__device__ inline void build_view_tables(const QuantizedView& view, const std::int64_t* row_offsets,
                                         ViewTables& tables) {
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
}

__device__ inline GroupView view_of_group(const QuantizedView& view, const ViewTables& tables,
                                          int group, std::int64_t rows) {
  const std::int64_t first_scale =
      view.layout == ScaleLayout::PerTensor ? group : tables.scale_units[group] * scale_unit(view);
  std::int64_t first_code = view.row_offsets[group] * (view.joined ? 1 : view.columns);
  if (is_nvfp4(view.layout)) {
    first_code = view.direction == Direction::Columnwise ? tables.sixteens[group] * view.columns * 8
                                                         : first_code / 2;
  }
  return group_view(view, group, rows, first_scale, first_code);
}

/// For each tile of this thread block, all threads together: prepare(tile, group, turn), a barrier,
/// visit(tile, group, turn). Shared memory written by prepare is safe from the next tile's prepare
/// if it alternates with turn (0, 1). A block's tiles are adjacent in a strip, so that groups are
/// rarely looked up. `row_offsets` are those of the plain operand; needs kViewThreads threads.
template <class Prepare, class Visit>
__device__ void for_each_view_tile(const QuantizedView& view, const std::int64_t* row_offsets,
                                   ViewTables& tables, Prepare prepare, Visit visit) {
  build_view_tables(view, row_offsets, tables);
  const std::int64_t across = (view.columns + kViewTile - 1) / kViewTile;
  const std::int64_t tiles = tables.strips[view.num_groups] * across;
  std::int64_t t = tiles * blockIdx.x / gridDim.x;
  const std::int64_t end = tiles * (blockIdx.x + 1) / gridDim.x;
  int turn = 0;
  while (t < end) {
    const std::int64_t strip = t / across;
    std::int64_t tile_column = t - strip * across;
    ViewTile tile;
    tile.group = warp_find_group(tables.strips, view.num_groups, strip);
    tile.first_row = row_offsets[tile.group];
    tile.row = (strip - tables.strips[tile.group]) * kViewTile;
    const std::int64_t code_rows = view.row_offsets[tile.group + 1] - view.row_offsets[tile.group];
    const std::int64_t plain_rows = row_offsets[tile.group + 1] - tile.first_row;
    tile.rows = static_cast<int>(
        min(std::int64_t{kViewTile}, max(min(plain_rows, code_rows) - tile.row, std::int64_t{0})));
    const GroupView group = view_of_group(view, tables, tile.group, code_rows);
    for (; t < end && tile_column < across; ++t, ++tile_column, turn ^= 1) {
      tile.column = tile_column * kViewTile;
      tile.columns = static_cast<int>(min(std::int64_t{kViewTile}, view.columns - tile.column));
      prepare(tile, group, turn);
      __syncthreads();
      visit(tile, group, turn);
    }
  }
}

}  // namespace kernels
