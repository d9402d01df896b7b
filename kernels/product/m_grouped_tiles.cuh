// Which tiles of D a thread block of the M-grouped kernel computes, in which order.
#pragma once

#include "kernels/common/group_tables.cuh"
#include "kernels/product/cluster_deal.cuh"
#include "kernels/product/m_grouped_block.h"
#include "kernels/product/m_grouped_tile.h"
#include "kernels/product/warp_lanes.cuh"

namespace kernels::products {

/// What does not depend on the rows of a tile.
struct MGrouped {
  static constexpr int kTileColumns = static_cast<int>(kMGroupedTileColumns);
  static constexpr int kCluster = static_cast<int>(kMGroupedCluster);
  static constexpr int kWarpgroups = 2;
  static constexpr int kMathWarps = 4 * kWarpgroups;
  static constexpr int kThreads = 32 * kMathWarps + 128;
  static constexpr int kHalfRows = 64 * kWarpgroups;  // that are multiplied at a time
  static constexpr int kBoxRows = 64;                 // that one copy brings
  // Registers of a thread: the copying warps give theirs to those that multiply.
  static constexpr int kCopyRegisters = 56;
  static constexpr int kMathRegisters = 224;
  static constexpr int kBand = 8;  // tiles of rows that share their weights in L2
};

/// The tile that a stage belongs to, from the thread that loads to the warps that multiply: they
/// neither search for it nor wait for memory when they begin it.
struct MGroupedTile {
  std::int64_t number;  // for its stamp
  int group;
  int first_row;  // in x
  int rows;       // of the group, from this tile's first on, or fewer where that is all that it
                  // computes; 0 = there are no more tiles
  int column;
};

struct MGroupedParameters {
  const std::int64_t* row_offsets;
  int groups;
  int columns;
  int blocks;  // of the reduction
  int pairs;   // of tiles side by side
  const float* x_scales;
  const float* w_scales;
  void* output;
  StampBuffer stamps;
  std::uint32_t* tickets;  // of MGroupedBlockArgs
};

/// Where each group's tiles and scales begin.
struct MGroupedTables {
  std::int32_t* first_tile;
  std::int32_t* first_scale;  // in rows of scales, each group's rounded up to 4
};

/// All threads call; others see the tables after a barrier.
template <int kTileRows>
__device__ __forceinline__ void fill_tables(const MGroupedParameters& parameters,
                                            const MGroupedTables& tables) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (warp == 0) {
    warp_sum_table<1>(tables.first_tile, parameters.row_offsets, parameters.groups,
                      [](int rows) { return (rows + kTileRows - 1) / kTileRows; });
  } else if (warp == 1) {
    warp_sum_table<1>(tables.first_scale, parameters.row_offsets, parameters.groups,
                      [](int rows) { return (rows + 3) / 4 * 4; });
  }
}

/// The tiles of one thread block, in order. Whole warps call.
template <int kTileRows>
class MGroupedTiles {
 public:
  __device__ __forceinline__ MGroupedTiles(const MGroupedParameters& parameters,
                                           const MGroupedTables& tables, ClusterTickets& tickets)
      : parameters_(parameters),
        tables_(tables),
        deal_(parameters.tickets, tickets),
        whole_(tables.first_tile[parameters.groups] * parameters.pairs),
        halves_(0) {
    if constexpr (kTileRows > MGrouped::kHalfRows) {
      // Whole units would leave most clusters without work in the end: the last ones are halved.
      const int clusters = static_cast<int>(gridDim.x) / MGrouped::kCluster;
      const int most = min(clusters / 2, kMGroupedMostHalved);
      const int left = whole_ % clusters;
      if (left > 0 && left <= most) {
        const int halved = min(whole_, most);
        whole_ -= halved;
        halves_ = 2 * halved;
      }
    }
  }

  /// rows = 0 if there are no more.
  __device__ __forceinline__ MGroupedTile next() {
    for (;;) {
      const int unit = deal_.take();
      if (unit >= whole_ + halves_) return {};
      const MGroupedTile tile = describe(unit);
      if (tile.rows > 0) return tile;  // a group may end in the upper half of a unit
    }
  }

  __device__ __forceinline__ void finish() { deal_.finish(); }

 private:
  __device__ __forceinline__ MGroupedTile describe(int number) const {
    const int pairs = parameters_.pairs;
    const bool halved = number >= whole_;
    const int unit = halved ? whole_ + (number - whole_) / 2 : number;
    const int group = uniform(warp_find_group(tables_.first_tile, parameters_.groups, unit, pairs));
    const int first_tile = tables_.first_tile[group];
    const int tiles = tables_.first_tile[group + 1] - first_tile;
    // In a group by bands of rows of tiles, column by column.
    const int in_group = unit - first_tile * pairs;
    const int band = in_group / (MGrouped::kBand * pairs);
    const int in_band = in_group - band * (MGrouped::kBand * pairs);
    const int height = min(MGrouped::kBand, tiles - band * MGrouped::kBand);
    const int pair = in_band / height;
    int row = (band * MGrouped::kBand + in_band - pair * height) * kTileRows;
    if (halved) row += (number - whole_) % 2 * MGrouped::kHalfRows;
    const auto begin = static_cast<int>(parameters_.row_offsets[group]);
    int rows = max(0, static_cast<int>(parameters_.row_offsets[group + 1]) - begin - row);
    if (halved) rows = min(rows, MGrouped::kHalfRows);
    const int in_cluster = static_cast<int>(blockIdx.x) % MGrouped::kCluster;
    return {.number = std::int64_t{number} * MGrouped::kCluster + in_cluster,
            .group = group,
            .first_row = uniform(begin + row),
            .rows = uniform(rows),
            .column = uniform(pair * MGrouped::kCluster + in_cluster) * MGrouped::kTileColumns};
  }

  const MGroupedParameters& parameters_;
  const MGroupedTables& tables_;
  ClusterDeal<MGrouped::kCluster> deal_;
  int whole_;   // units of a tile for each block
  int halves_;  // units of half a tile, behind them
};

}  // namespace kernels::products
