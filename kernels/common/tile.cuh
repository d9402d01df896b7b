// A tile of an operand: its place in the operand and in shared memory, and how it is loaded.
#pragma once

#include "kernels/common/activated_step.cuh"
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

  __device__ __forceinline__ uint4* row(int line) {
    return &pieces[line * kRowPieces<kType> + line / kSegmentRows * kPadding];
  }
  __device__ __forceinline__ const uint4* row(int line) const {
    return &pieces[line * kRowPieces<kType> + line / kSegmentRows * kPadding];
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
/// and a second like it follows activated_columns() to the right. A tile of few rows packs up to
/// four blocks of columns, all of which must lie in one half.
__host__ __device__ constexpr bool pairs_gradients(const GroupedInput& input) {
  return input.output_gradient != nullptr && input.activation.gated &&
         input.activated_columns() % (4 * kBlock) == 0;
}
/// The columns that tiles are dealt from.
__host__ __device__ constexpr std::int64_t dealt_columns(const GroupedInput& input) {
  return pairs_gradients(input) ? input.activated_columns() : input.columns;
}

/// Where the columns of a tile come from: rows of `wrap` columns, `pitch` apart; columns from
/// `wrap` on begin again at the first. In steps of eight elements.
struct TileSource {
  const void* base = nullptr;
  std::int64_t pitch = 0;
  std::int64_t wrap = 0;
};

/// What an activation is made of.
template <InputType kType>
__device__ __forceinline__ TileSource gate_steps(const GroupedInput& input) {
  return {input.input, input.input_columns() / kStep, input.activated_columns() / kStep};
}
template <InputType kType>
__device__ __forceinline__ TileSource up_steps(const GroupedInput& input) {
  const std::int64_t half = input.activated_columns() / kStep;
  return {static_cast<const uint4*>(input.input) + half * RawStep<kType>::kVectors,
          input.input_columns() / kStep, half};
}
template <InputType kType>
__device__ __forceinline__ TileSource gradient_steps(const GroupedInput& input) {
  const std::int64_t half = input.activated_columns() / kStep;
  return {input.output_gradient, half, half};
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

/// A read of what is needed once: it leaves the L1 cache to others.
__device__ __forceinline__ uint4 load_streamed(const uint4* source) {
  uint4 value;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(source));
  return value;
}

/// The steps of one thread of a tile that pass through registers: step threadIdx.x % 16 of every
/// sixteenth line. A line's row and block follow from those of the first one by bits that do not
/// carry, so that little is computed for each.
template <InputType kType>
class StepStream {
 public:
  __device__ __forceinline__ StepStream(const GroupedInput& input, const Tile& tile,
                                        const TileSource& source, int first_line, int step)
      : row_bits_(tile.row_bits),
        rows_left_(tile.in_rows - first_line),
        step_(tile.bx * kLanesPerRow + step),
        steps_per_row_(static_cast<int>(input.columns / kStep)),
        wrap_(static_cast<int>(source.wrap)),
        pitch_(static_cast<int>(source.pitch)),
        rows_(static_cast<const uint4*>(source.base) +
              (tile.in_first + first_line) * source.pitch * RawStep<kType>::kVectors) {}

  /// In the columns of the operand that is quantized.
  __device__ __forceinline__ int step(int pass) const {
    return step_ + (kLinesPerPass * pass >> row_bits_) * kLanesPerRow;
  }
  __device__ __forceinline__ bool beyond_wrap(int pass) const { return step(pass) >= wrap_; }
  /// Zeros outside the operand, which stay zeros: every f(0) is 0, and so is the gradient of y.
  __device__ __forceinline__ RawStep<kType> load(int pass) const {
    const int row = kLinesPerPass * pass & ((1 << row_bits_) - 1);
    const int at = step(pass);
    if (row >= rows_left_ || at >= steps_per_row_) return zero_step<kType>();
    const uint4* vectors =
        rows_ + (row * pitch_ + (at >= wrap_ ? at - wrap_ : at)) * RawStep<kType>::kVectors;
    return step_of_vectors<kType>([&](int i) { return load_streamed(vectors + i); });
  }

  static constexpr int kLinesPerPass = kThreads / kLanesPerRow;

 private:
  // Copied: the tile's description is in shared memory, which is written between the reads.
  int row_bits_;
  int rows_left_;
  int step_;
  int steps_per_row_;
  int wrap_;
  int pitch_;
  const uint4* rows_;
};

template <InputType kType>
__device__ __forceinline__ RawStep<kType> shared_step(const RawTile<kType>& raw, int row,
                                                      int step) {
  const uint4* vectors = raw.row(row) + step * RawStep<kType>::kVectors;
  return step_of_vectors<kType>([&](int i) { return vectors[i]; });
}

/// What a pass over a tile makes.
enum class Made {
  Value,      // y
  Gradient,   // of x; or of gate or up, by the column
  Gradients,  // of gate, and of up in a second tile (pairs_gradients())
};

template <InputType kType, ActivationFunction kFunction, bool kGated, bool kClamped, Made kMade>
__device__ __forceinline__ void activate_steps(const GroupedInput& input, const Tile& tile,
                                               RawTile<kType>& raw, RawTile<kType>& of_up) {
  constexpr bool kGradient = kMade != Made::Value;
  constexpr int kVectors = RawStep<kType>::kVectors;
  const int thread = static_cast<int>(threadIdx.x);
  const int step = thread % kLanesPerRow;
  const int first_line = thread / kLanesPerRow;
  const StepStream<kType> gates(input, tile, gate_steps<kType>(input), first_line, step);
  const StepStream<kType> ups(input, tile, up_steps<kType>(input), first_line, step);
  const StepStream<kType> gradients(input, tile, gradient_steps<kType>(input), first_line, step);
  const auto write = [&](RawTile<kType>& target, int pass, const RawStep<kType>& values) {
    uint4* const at = target.row(first_line + StepStream<kType>::kLinesPerPass * pass);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) at[step * kVectors + i] = values.vector(i);
  };
#pragma unroll(kGradient ? 2 : 4)
  for (int pass = 0; pass < kPasses; ++pass) {
    const RawStep<kType> g = gates.load(pass);
    RawStep<kType> u = g;
    RawStep<kType> d = g;
    if constexpr (kGated) u = ups.load(pass);
    if constexpr (kGradient) d = gradients.load(pass);
    if constexpr (kMade == Made::Gradients) {
      RawStep<kType> second;
      write(raw, pass,
            activation_gradients<kFunction, kClamped>(input.activation, g, u, d, second));
      write(of_up, pass, second);
    } else {
      const bool second = kMade == Made::Gradient && gradients.beyond_wrap(pass);
      write(raw, pass,
            activated_step<kFunction, kGated, kClamped, kGradient>(input.activation, g, u, d,
                                                                   second));
    }
  }
}

/// What a tile kernel is instantiated for. SwiGLU's value, the most frequent activation, has an
/// instance of its own: beside the call it reached 0.49 of a copy, without it 0.64 (H200).
enum class TileInput { Plain, Swiglu, Activated };

template <InputType kType>
__device__ __forceinline__ void swiglu_tile(const GroupedInput& input, const Tile& tile,
                                            RawTile<kType>& raw) {
  constexpr int kVectors = RawStep<kType>::kVectors;
  const int thread = static_cast<int>(threadIdx.x);
  const int step = thread % kLanesPerRow;
  const std::int64_t steps_per_row = input.columns / kStep;
#pragma unroll 4
  for (int line = thread / kLanesPerRow; line < kSide; line += kThreads / kLanesPerRow) {
    const int row = tile.row(line);
    const std::int64_t in_row = std::int64_t{tile.block(line)} * kLanesPerRow + step;
    const RawStep<kType> values = row < tile.in_rows && in_row < steps_per_row
                                      ? load_swiglu_step<kType>(input, tile.in_first + row, in_row)
                                      : zero_step<kType>();
#pragma unroll
    for (int i = 0; i < kVectors; ++i) raw.row(line)[step * kVectors + i] = values.vector(i);
  }
}

/// Fills a tile, and where gradients come in pairs the one of up's; through registers. All consumer
/// warps call, and a barrier must follow. One copy of all activations, called.
template <InputType kType>
__device__ __noinline__ void activate_tile(const GroupedInput& input, const Tile& tile,
                                           RawTile<kType>& raw, RawTile<kType>& of_up) {
  dispatch_activation(
      input.activation, [&]<ActivationFunction kFunction, bool kGated, bool kClamped>() {
        if (input.output_gradient == nullptr) {
          activate_steps<kType, kFunction, kGated, kClamped, Made::Value>(input, tile, raw, of_up);
        } else if (kGated && pairs_gradients(input)) {
          activate_steps<kType, kFunction, kGated, kClamped, Made::Gradients>(input, tile, raw,
                                                                              of_up);
        } else {
          activate_steps<kType, kFunction, kGated, kClamped, Made::Gradient>(input, tile, raw,
                                                                             of_up);
        }
      });
}

/// A barrier of the consumer warps alone.
__device__ __forceinline__ void sync_workers() {
  asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
}

}  // namespace kernels::tiles
