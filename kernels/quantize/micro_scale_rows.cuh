// How the workers with one-byte scales (MXFP8, NVFP4) process the lines of a tile rowwise, and how
// they store scales: as adjacent words. Single bytes of scattered lines kept the L2 busier than the
// codes did.
#pragma once

#include "kernels/common/micro_scales.h"
#include "kernels/common/tile_work.cuh"

namespace kernels::tiles {

/// A warp's sixteen lines: four rows in every 32, which is how the swizzled layout interleaves 128
/// lines, so that the warp's scales are 64 contiguous bytes. Half a warp processes one line at a
/// time; pass p is line(p).
class InterleavedLines {
 public:
  __device__ InterleavedLines(int warp, int lane) : first_(4 * warp + lane / kLanesPerRow) {}
  __device__ int line(int pass) const { return first_ + further(pass); }
  /// From line(0).
  __device__ static constexpr int further(int pass) { return 2 * (pass & 1) + 32 * (pass >> 1); }

 private:
  int first_;
};
static_assert(kPasses == 8 && kWarps == 8);

/// Distances between the lines of a lane in the rowwise codes, in Words: line(p) is (p & 1) * odd +
/// (p >> 1 & 1) * segment + (p >> 2) * two_segments after line(0), also where a tile holds 64 or 32
/// rows of several blocks of columns.
struct LineDistances {
  std::int64_t odd;
  std::int64_t segment;
  std::int64_t two_segments;

  __device__ LineDistances(const Tile& tile, std::int64_t steps_per_row)
      : odd(2 * steps_per_row),
        segment(of_line(tile, kSegmentRows, steps_per_row)),
        two_segments(of_line(tile, 2 * kSegmentRows, steps_per_row)) {}
  /// Incrementally, so that the passes share their sums.
  template <class Word>
  __device__ Word* after(Word* first, int pass) const {
    if ((pass & 4) != 0) first += two_segments;
    if ((pass & 2) != 0) first += segment;
    return (pass & 1) != 0 ? first + odd : first;
  }

 private:
  __device__ static std::int64_t of_line(const Tile& tile, int line, std::int64_t steps_per_row) {
    return tile.row(line) * steps_per_row + std::int64_t{line >> tile.row_bits} * kLanesPerRow;
  }
};

/// Whether every line of the tile is a row to write and all its columns exist, which end at `end`.
__device__ __forceinline__ bool is_whole(const Tile& tile, std::int64_t end) {
  return tile.out_rows == 1 << tile.row_bits &&
         (std::int64_t{tile.bx} + (kSide >> tile.row_bits)) * kSide <= end;
}

/// Where the rowwise scales of a group lie.
struct RowScales {
  std::uint8_t* bytes;   // of the group
  std::int64_t per_row;  // scales of a row
  MicroScaleLayout layout;

  __device__ std::int64_t pitch() const { return round_up(per_row, 4); }

  /// Stores the scales of four adjacent blocks of `line`, starting at block `x`, x % 4 == 0, unless
  /// that is not below `end`. In a tile of 64 or 32 rows the missing swizzled lines of the 128 get
  /// zeros here, compact ones in clear_missing_rows().
  __device__ __forceinline__ void store_word(const Tile& tile, int line, std::int64_t x,
                                             std::int64_t end, std::uint32_t word) const {
    if (x >= end) return;
    const std::int64_t y = std::int64_t{tile.strip_in_group} * kSide + tile.row(line);
    if (layout == MicroScaleLayout::Compact) {
      *reinterpret_cast<std::uint32_t*>(bytes + y * pitch() + x) = word;
      return;
    }
    std::uint8_t* const to = bytes + swizzled_scale_index(y, x, per_row);
    if (tile.row_bits == 5) {
      *reinterpret_cast<uint4*>(to) = {word, 0, 0, 0};
      return;
    }
    reinterpret_cast<std::uint32_t*>(to)[0] = word;
    if (tile.row_bits == 6) reinterpret_cast<std::uint32_t*>(to)[2] = 0;
  }

  /// Clears this tile's share of the compact scales of its strip's missing rows, which are
  /// contiguous. All consumer threads call.
  __device__ __forceinline__ void clear_missing_rows(const Tile& tile, std::int64_t columns) const {
    if (tile.row_bits == 7 || layout == MicroScaleLayout::Swizzled) return;
    const int lines = 1 << tile.row_bits;
    std::uint8_t* const first =
        bytes + (std::int64_t{tile.strip_in_group} * kSide + lines) * pitch();
    clear_share(tile, columns, first, (kSide - lines) * pitch());
  }

  /// Zeroes the tile's share of `count` bytes that all tiles of the strip's first `columns` columns
  /// clear together; size and address are multiples of 16.
  __device__ __forceinline__ static void clear_share(const Tile& tile, std::int64_t columns,
                                                     std::uint8_t* first, std::int64_t count) {
    const int wide = 7 - tile.row_bits;
    const auto blocks = static_cast<unsigned>(ceil_div(columns, kBlock));
    const unsigned tiles = (blocks + (1U << wide) - 1) >> wide;
    const auto pieces = static_cast<unsigned>(count / 16);
    const unsigned share = (pieces + tiles - 1) / tiles;
    const unsigned begin = (static_cast<unsigned>(tile.bx) >> wide) * share;
    const unsigned end = min(begin + share, pieces);
    for (unsigned i = begin + threadIdx.x; i < end; i += kThreads) {
      reinterpret_cast<uint4*>(first)[i] = {};
    }
  }
};

}  // namespace kernels::tiles
