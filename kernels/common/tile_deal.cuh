// Which tiles a thread block works on: the prefix sums that find a tile's group, and the schedule.
// Worker is described in kernels/common/tile_pipeline.cuh.
#pragma once

#include "kernels/common/group_tables.cuh"
#include "kernels/common/tile.cuh"

namespace kernels::tiles {

/// The properties of a launch that the pipeline needs.
struct TileOperand {
  GroupedInput input;
  OutputRows output_rows;
  LaunchControls controls;
  bool second_sums = false;   // whether the worker uses its second prefix sum
  bool ignores_noop = false;  // bias partials are written anyway
};

/// Prefix sums over the groups, in shared memory. The coarse ones hold every 32nd entry: with all
/// entries, two thread blocks of some workers would not fit on an SM at 1024 groups.
struct Tables {
  std::int32_t* first_tile;
  std::int32_t* strips;       // coarse; of the outputs
  std::int32_t* first_sums;   // coarse; what Worker::first_units() counts
  std::int32_t* second_sums;  // coarse; what Worker::second_units() counts

  __host__ __device__ static int coarse(int groups) { return groups / 32 + 1; }
  __host__ __device__ static std::size_t bytes(int groups) {
    return static_cast<std::size_t>(groups + 1 + 3 * coarse(groups)) * sizeof(std::int32_t);
  }
};

__device__ __forceinline__ int strips_of(int m) { return (m + kSide - 1) / kSide; }
__device__ __forceinline__ int left_row_bits(int rows) {
  return rows <= 32 ? 5 : rows <= 64 ? 6 : 7;
}

/// The rows that Worker::first_units() counts: those of the rowwise outputs. (Block 128x128 counts
/// columnwise units of 512 rows, which padding to a divisor of 128 does not change.)
__device__ __forceinline__ const std::int64_t* first_sum_offsets(const TileOperand& args) {
  const bool padded = args.output_rows.row_offsets != nullptr && !args.output_rows.columnwise_only;
  return padded ? args.output_rows.row_offsets : args.input.row_offsets;
}

/// Chooses the tiles of this thread block: round-robin, or, with tickets, whichever is next when it
/// asks. One warp does it for all.
template <class Worker>
class TileSchedule {
 public:
  __device__ TileSchedule(const TileOperand& args, const Tables& tables)
      : args_(args),
        tables_(tables),
        blocks_per_row_(static_cast<unsigned>(ceil_div(dealt_columns(args.input), kBlock))),
        asked_(static_cast<std::int32_t>(blockIdx.x)) {
    out_offsets_ = args.output_rows.row_offsets != nullptr ? args.output_rows.row_offsets
                                                           : args.input.row_offsets;
    advance();
  }

  /// Advances to the next tile: requests its number, which is needed one tile later.
  __device__ void advance() {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    std::uint32_t* tickets = args_.controls.tickets;
    index_ = asked_;
    if (tickets == nullptr) {
      asked_ += static_cast<std::int32_t>(gridDim.x);
    } else if (lane == 0) {
      asked_ = static_cast<std::int32_t>(gridDim.x + atomicAdd(tickets, 1U));
    }
  }

  /// The current tile.
  __device__ Tile describe() {
    std::int32_t index = __shfl_sync(kFullWarp, index_, 0);
    Tile tile;
    const int groups = args_.input.num_groups;
    const std::int32_t tiles = tables_.first_tile[groups];
    if (index >= tiles) return tile;
    if constexpr (Worker::kBackwards) index = tiles - 1 - index;
    if (group_ < 0 || index < tables_.first_tile[group_] ||
        index >= tables_.first_tile[group_ + 1]) {
      enter(warp_find_group(tables_.first_tile, groups, index));
    }
    tile.index = index;
    tile.group = group_;
    tile.out_begin = out_begin_;
    tile.out_m = out_m_;
    tile.first_sum = first_sum_;
    tile.second_sum = second_sum_;
    const auto local = static_cast<unsigned>(index - tables_.first_tile[group_]);
    const unsigned full_strips = static_cast<unsigned>(out_m_) / kSide;
    const unsigned strip = local / blocks_per_row_;
    if (strip < full_strips) {
      tile.strip_in_group = static_cast<int>(strip);
      tile.bx = static_cast<int>(local - strip * blocks_per_row_);
      tile.out_rows = kSide;
    } else {
      tile.strip_in_group = static_cast<int>(full_strips);
      tile.out_rows = out_m_ % kSide;
      tile.row_bits = left_row_bits(tile.out_rows);
      tile.bx = static_cast<int>(local - full_strips * blocks_per_row_) << (7 - tile.row_bits);
    }
    tile.strip = first_strip_ + tile.strip_in_group;
    const int row_in_group = tile.strip_in_group * kSide;
    tile.in_first = in_begin_ + row_in_group;
    tile.in_rows = max(0, min(kSide, in_m_ - row_in_group));
    const bool unpadded = args_.output_rows.columnwise_only;
    tile.rowwise_rows = unpadded ? tile.in_rows : tile.out_rows;
    tile.rowwise_m = unpadded ? in_m_ : out_m_;
    tile.rowwise_first = unpadded ? tile.in_first : out_begin_ + row_in_group;
    if constexpr (takes_gradients(Worker::kTileInput)) {
      tile.end_step = static_cast<int>(dealt_columns(args_.input) / kStep);
    }
    return tile;
  }

  /// The last block to get here resets the tickets.
  __device__ void finish() const {
    std::uint32_t* tickets = args_.controls.tickets;
    if (threadIdx.x % 32 != 0 || tickets == nullptr) return;
    if (atomicInc(tickets + 1, gridDim.x - 1) == gridDim.x - 1) *tickets = 0;
  }

 private:
  __device__ void enter(int group) {
    group_ = group;
    const std::int64_t* in_offsets = args_.input.row_offsets;
    in_begin_ = in_offsets[group];
    in_m_ = static_cast<int>(in_offsets[group + 1] - in_begin_);
    out_begin_ = out_offsets_[group];
    out_m_ = static_cast<int>(out_offsets_[group + 1] - out_begin_);
    first_strip_ = tables_.strips[group / 32] + sum_before(out_offsets_, strips_of);
    first_sum_ = tables_.first_sums[group / 32] +
                 sum_before(first_sum_offsets(args_), [](int m) { return Worker::first_units(m); });
    if (args_.second_sums) {
      second_sum_ = tables_.second_sums[group / 32] +
                    sum_before(Worker::kSecondOfInput ? in_offsets : out_offsets_,
                               [](int m) { return Worker::second_units(m); });
    }
  }

  /// Sum over the groups between the last entry of a coarse table and this one.
  template <class Count>
  __device__ std::int32_t sum_before(const std::int64_t* offsets, Count count) const {
    const int other = group_ / 32 * 32 + (static_cast<int>(threadIdx.x) & 31);
    const int m = other < group_ ? static_cast<int>(offsets[other + 1] - offsets[other]) : 0;
    return __reduce_add_sync(kFullWarp, count(m));
  }

  const TileOperand& args_;
  const Tables& tables_;
  const std::int64_t* out_offsets_;
  unsigned blocks_per_row_;
  std::int32_t asked_;
  std::int32_t index_ = 0;
  int group_ = -1;
  std::int64_t in_begin_ = 0;
  std::int64_t out_begin_ = 0;
  int in_m_ = 0;
  int out_m_ = 0;
  std::int32_t first_strip_ = 0;
  std::int32_t first_sum_ = 0;
  std::int32_t second_sum_ = 0;
};

/// Places the tables in `memory` and fills them.
template <class Worker>
__device__ __forceinline__ Tables make_tables(const TileOperand& args, std::int32_t* memory) {
  const int groups = args.input.num_groups;
  Tables tables;
  tables.first_tile = memory;
  tables.strips = memory + groups + 1;
  tables.first_sums = tables.strips + Tables::coarse(groups);
  tables.second_sums = tables.first_sums + Tables::coarse(groups);
  const std::int64_t* in_offsets = args.input.row_offsets;
  const std::int64_t* out_offsets =
      args.output_rows.row_offsets != nullptr ? args.output_rows.row_offsets : in_offsets;
  const auto blocks_per_row = static_cast<int>(ceil_div(dealt_columns(args.input), kBlock));
  // One warp each.
  switch (static_cast<int>(threadIdx.x) / 32) {
    case 0:
      warp_sum_table<1>(tables.first_tile, out_offsets, groups, [&](int m) {
        const int left = m % kSide;
        const int wide = left == 0 ? 0 : 1 << (7 - left_row_bits(left));
        return m / kSide * blocks_per_row + (left == 0 ? 0 : (blocks_per_row + wide - 1) / wide);
      });
      break;
    case 1:
      warp_sum_table<32>(tables.strips, out_offsets, groups, strips_of);
      break;
    case 2:
      warp_sum_table<32>(tables.first_sums, first_sum_offsets(args), groups,
                         [](int m) { return Worker::first_units(m); });
      break;
    case 3:
      if (args.second_sums) {
        warp_sum_table<32>(tables.second_sums, Worker::kSecondOfInput ? in_offsets : out_offsets,
                           groups, [](int m) { return Worker::second_units(m); });
      }
      break;
    default:
      break;
  }
  __syncthreads();
  return tables;
}

}  // namespace kernels::tiles
