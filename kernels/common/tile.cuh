// A tile of an operand: its place in the operand and in shared memory, and how it is loaded.
#pragma once

#include "kernels/common/input_vectors.cuh"
#include "kernels/common/launch.cuh"

namespace kernels::tiles {

inline constexpr int kSide = static_cast<int>(kBlock);
inline constexpr int kWarps = kThreads / 32;         // consumers
inline constexpr int kBlockThreads = kThreads + 32;  // and the producer warp
inline constexpr int kLanesPerRow = kSide / kStep;
inline constexpr int kPasses = kSide * kSide / kStep / kThreads;  // steps of one thread, rowwise
inline constexpr int kWarpPairs = kSide / 2 / kWarps;             // column pairs of a warp
inline constexpr int kSegments = 32 / kWarpPairs;                 // of the rows, columnwise
inline constexpr int kSegmentRows = kSide / kSegments;
inline constexpr int kWarpLines = kSide / kWarps;  // rows of a warp, rowwise
static_assert(kWarpPairs == 8 && kSegmentRows == 32);

/// 16-byte pieces per tile row.
template <InputType kType>
inline constexpr int kRowPieces = kSide * RawStep<kType>::kWords / kStep / 4;

/// The elements of a tile. Rows of different segments are read together, one pair of neighbouring
/// columns each, so every segment starts a few banks later than the one before.
template <InputType kType>
struct RawTile {
  static constexpr int kPadding = kRowPieces<kType> / kWarps;  // pieces of a row that a warp reads
  uint4 pieces[kSide * kRowPieces<kType> + kSegments * kPadding];

  __device__ __forceinline__ uint4* row(int line) { return &pieces[first_piece(line)]; }
  __device__ __forceinline__ const uint4* row(int line) const { return &pieces[first_piece(line)]; }
  /// Line `line` + `further`. The lines beyond whole segments stay in one segment, so a constant
  /// `further` is a constant distance, which an access includes. (An address for every line was
  /// more than registers hold, see not_invariant().)
  __device__ __forceinline__ uint4* row(int line, int further) {
    return row(line) + first_piece(further);
  }
  __device__ __forceinline__ const uint4* row(int line, int further) const {
    return row(line) + first_piece(further);
  }

 private:
  __device__ __forceinline__ static constexpr int first_piece(int line) {
    return line * kRowPieces<kType> + line / kSegmentRows * kPadding;
  }
};

/// One tile of the launch's walk: 128 rows of one block of 128 columns, or, where a group has 64
/// or 32 rows left, those rows of two or four such blocks. Its 128 lines are numbered across all
/// blocks, so that a tile is full either way: line l is row l % lines_per_block of block bx + l /
/// lines_per_block.
struct Tile {
  std::int32_t index = -1;  // in walk order; -1 = none
  int bx = 0;               // first block of 128 columns
  int group = 0;
  int strip_in_group = 0;      // 128 rows of the output each
  int row_bits = 7;            // log2(lines of a block): 128, 64 or 32
  int in_rows = 0;             // rows of the group in this tile; the others count as 0
  int out_rows = 0;            // rows to write
  std::int32_t out_m = 0;      // the group's rows in the outputs
  std::int32_t strip = 0;      // of all groups' outputs
  std::int32_t first_sum = 0;  // units before the group, as counted by the worker
  std::int32_t second_sum = 0;
  int end_step = 0;            // where its columns end, if it may be a gradient's: end_column()
  std::int64_t in_first = 0;   // row of the input
  std::int64_t out_begin = 0;  // the group's first row in the outputs
  // For the rowwise outputs, which may keep the input's rows (OutputRows):
  int rowwise_rows = 0;            // to write
  std::int32_t rowwise_m = 0;      // the group's
  std::int64_t rowwise_first = 0;  // the tile's first

  __device__ int row(int line) const { return line & ((1 << row_bits) - 1); }
  __device__ int block(int line) const { return bx + (line >> row_bits); }
};

/// Starts a 16-byte copy to shared memory that bypasses registers; writes zeros if `inside` is
/// false. Copies this small keep memory busier than bulk copies of single rows.
__device__ __forceinline__ void copy_piece(uint4* target, const void* source, bool inside) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(target));
  const int bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(source),
               "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void copy_piece(uint4* target, const void* source) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(target));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(source) : "memory");
}

/// Whether the gradients of gate and of up are made from the same loads: a tile is one of gate's,
/// and a second like it follows activated_columns() to the right. Every block of columns must lie
/// in one half. A tile of few rows packs up to four of them; those of gate's last one that would
/// lie in up's half do not exist (end_column()), since up's tiles have them.
__host__ __device__ constexpr bool pairs_gradients(const GroupedInput& input) {
  return input.output_gradient != nullptr && input.activation.gated &&
         input.activated_columns() % kBlock == 0;
}
/// The columns that tiles are dealt from.
__host__ __device__ constexpr std::int64_t dealt_columns(const GroupedInput& input) {
  return pairs_gradients(input) ? input.activated_columns() : input.columns;
}

/// Loads a tile into shared memory; one warp calls. The copies are in flight when this returns.
template <InputType kType>
__device__ __forceinline__ void copy_tile(const GroupedInput& input, const Tile& tile,
                                          RawTile<kType>& raw) {
  constexpr int kPieces = kRowPieces<kType>;
  constexpr int kRowsAtOnce = 32 / kPieces;
  constexpr int kPieceSteps = RawStep<kType>::kWords / 4;  // pieces per step
  static_assert(kRowsAtOnce >= 1);
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int piece = lane % kPieces;
  const int first_line = lane / kPieces;
  const std::int64_t pieces_per_row = input.columns / kStep * kPieceSteps;
  const auto stride = static_cast<std::uint32_t>(kRowsAtOnce * pieces_per_row);
  const auto* source = static_cast<const uint4*>(input.input);
#pragma unroll
  for (int segment = 0; segment < kSegments; ++segment) {
    // A segment lies in one block of columns, even in a tile of several.
    const int row = tile.row(segment * kSegmentRows);
    const std::int64_t in_row = std::int64_t{tile.block(segment * kSegmentRows)} * kPieces + piece;
    uint4* const to = raw.row(segment * kSegmentRows) + first_line * kPieces + piece;
    const uint4* const from = source + (tile.in_first + row + first_line) * pieces_per_row + in_row;
    const bool whole =
        tile.in_rows - row >= kSegmentRows && in_row - piece + kPieces <= pieces_per_row;
    if (whole) {
#pragma unroll
      for (int i = 0; i < kSegmentRows / kRowsAtOnce; ++i) {
        copy_piece(to + i * kRowsAtOnce * kPieces, from + static_cast<std::uint64_t>(i) * stride);
      }
    } else {
      const int rows = in_row < pieces_per_row ? tile.in_rows - row - first_line : 0;
#pragma unroll 8
      for (int i = 0; i < kSegmentRows / kRowsAtOnce; ++i) {
        const bool inside = i * kRowsAtOnce < rows;
        // Never form an address outside the operand, even though zero-fill would not read it.
        copy_piece(to + i * kRowsAtOnce * kPieces,
                   inside ? from + static_cast<std::uint64_t>(i) * stride : source, inside);
      }
    }
  }
}

/// A step of line `line` + `further`, see RawTile::row().
template <InputType kType>
__device__ __forceinline__ RawStep<kType> shared_step(const RawTile<kType>& raw, int line,
                                                      int further, int step) {
  const uint4* vectors = raw.row(line, further) + step * RawStep<kType>::kVectors;
  return step_of_vectors<kType>([&](int i) { return vectors[i]; });
}

/// What a tile kernel is instantiated for. SwiGLU's value and its gradient, the most frequent ones,
/// have instances of their own, in which they are not called: a call keeps registers on the stack.
enum class TileInput { Plain, Swiglu, SwigluGradient, Activated };
/// Whether it may be the gradient of an activation.
constexpr bool takes_gradients(TileInput input) {
  return input == TileInput::SwigluGradient || input == TileInput::Activated;
}

/// Where the columns end that a tile may read and write; blocks of it from there on do not exist.
/// That is the end of the operand's `columns`, except for gate's tiles where pairs_gradients().
/// Only instances that may be gradients ask the tile: the others would keep the same number in
/// registers twice.
template <TileInput kInput>
__device__ __forceinline__ std::int64_t end_column(const Tile& tile, std::int64_t columns) {
  if constexpr (takes_gradients(kInput)) return std::int64_t{tile.end_step} * kStep;
  return columns;
}

/// The same value, but the compiler does not know that it is the same for every tile. What follows
/// from it is computed for each tile, and not once for all and kept: beside three blocks' tiles L1
/// has 28 KiB, so what 864 threads keep on the stack goes to L2 and to memory. With 320 bytes each,
/// as gradients with MXFP8 once had, the device read 1.3 times as much (H200, ncu).
__device__ __forceinline__ int not_invariant(int value) {
  asm volatile("" : "+r"(value));
  return value;
}
__device__ __forceinline__ std::int64_t not_invariant(std::int64_t value) {
  asm volatile("" : "+l"(value));
  return value;
}

/// A barrier of the consumer warps alone.
__device__ __forceinline__ void sync_workers() {
  asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
}

}  // namespace kernels::tiles
