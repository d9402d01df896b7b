// Shared by the workers of the tile pipeline: maxima of packed elements and codes of a column.
#pragma once

#include "kernels/common/tile.cuh"

namespace kernels::tiles {

/// Largest magnitude in each of a thread's eight rows, over the sixteen lanes of a row, scattered:
/// lane l of a row gets row l / 2. Eight shuffles instead of 32, of packed 16-bit elements.
template <InputType kType>
__device__ __forceinline__ float scatter_row_amax(const RawStep<kType> (&values)[kPasses]) {
  using Word = AmaxWord<kType>;
  const int lane = static_cast<int>(threadIdx.x) & (kLanesPerRow - 1);
  Word amax[kPasses];
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) amax[pass] = step_amax_word<kType>(values[pass]);
#pragma unroll
  for (int half = kPasses / 2; half > 0; half /= 2) {
    const bool upper = (lane & (2 * half)) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const Word kept = upper ? amax[i + half] : amax[i];
      const Word given = upper ? amax[i] : amax[i + half];
      amax[i] = max_of_words<kType>(kept, __shfl_xor_sync(kFullWarp, given, 2 * half));
    }
  }
  return word_amax<kType>(max_of_words<kType>(amax[0], __shfl_xor_sync(kFullWarp, amax[0], 1)));
}

/// Codes of four rows of one column as one word.
template <Fp8Format kFormat>
__device__ __forceinline__ std::uint32_t column_word(float a, float b, float c, float d,
                                                     float scale) {
  constexpr __nv_fp8_interpretation_t kTarget = kFormat == Fp8Format::E4m3 ? __NV_E4M3 : __NV_E5M2;
  const std::uint32_t low =
      __nv_cvt_float2_to_fp8x2({__fmul_rn(a, scale), __fmul_rn(b, scale)}, __NV_SATFINITE, kTarget);
  const std::uint32_t high =
      __nv_cvt_float2_to_fp8x2({__fmul_rn(c, scale), __fmul_rn(d, scale)}, __NV_SATFINITE, kTarget);
  return low | (high << 16);
}

/// Eight transposed lines of a warp, 128 codes each: sixteen-code pieces in the order that
/// transposed_piece() gives, so that neither side of the exchange has bank conflicts.
using TransposedLines = uint4[kWarpPairs][kSide / 16];

__device__ __forceinline__ int transposed_piece(int line, int piece) { return piece ^ line; }

/// Where a tile's transposed codes go.
struct TransposedTarget {
  std::uint8_t* codes = nullptr;  // of row 0 of the tile in column 0 of the operand
  std::int64_t pitch = 0;         // from a column to the next
};

/// Stores eight lines, every other column from `first_column` on, where columns begin at multiples
/// of 16 bytes and have a multiple of 16 rows, and so whole pieces. `end()` is the
/// tile's end_column().
template <class End>
__device__ __forceinline__ void store_whole_lines(const TransposedLines& lines, const Tile& tile,
                                                  const TransposedTarget& target, int first_column,
                                                  const End& end) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int piece = lane % 8;  // 16 rows of one block's column
  const int row = tile.row(16 * piece);
  const std::int64_t column = std::int64_t{tile.block(16 * piece)} * kSide + first_column;
#pragma unroll
  for (int i = 0; i < kWarpPairs; i += 4) {
    const int line = lane / 8 + i;
    const std::int64_t line_column = column + 2 * line;
    if (line_column < end() && row < tile.out_rows) {
      *reinterpret_cast<uint4*>(target.codes + row + line_column * target.pitch) =
          lines[line][transposed_piece(line, piece)];
    }
  }
}

/// The same for any number of rows: a column begins at any byte. Its aligned words are each put
/// together from two of the line, a line at a time; then come the up to three codes before them and
/// after them. (Code by code, quantizing both ways took four times as long.)
template <class End>
__device__ __forceinline__ void store_unaligned_lines(const TransposedLines& lines,
                                                      const Tile& tile,
                                                      const TransposedTarget& target,
                                                      int first_column, const End& end) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int valid = tile.out_rows;
  // Codes in front of a column's first aligned word.
  const auto head_of = [](const std::uint8_t* column) {
    return static_cast<int>(-reinterpret_cast<std::uintptr_t>(column) & 3U);
  };
  const std::int64_t block_column = std::int64_t{tile.block(4 * lane)} * kSide + first_column;
  const int row = tile.row(4 * lane);
  const int next_word = min(lane + 1, 31);  // the last word has none behind it in its block
  std::uint8_t* column = target.codes + block_column * target.pitch;
#pragma unroll
  for (int line = 0; line < kWarpPairs; ++line) {
    const auto word = [&](int i) {
      return reinterpret_cast<const std::uint32_t*>(
          &lines[line][transposed_piece(line, i / 4)])[i % 4];
    };
    const int head = head_of(column);
    const std::uint32_t joined = __funnelshift_r(word(lane), word(next_word), 8 * head);
    if (row + head + 4 <= valid && block_column + 2 * line < end()) {
      *reinterpret_cast<std::uint32_t*>(column + row + head) = joined;
    }
    column += 2 * target.pitch;
  }
  const int line = lane / 4;
  const int code = lane % 4;
  for (int first = 0; first < kSide; first += 1 << tile.row_bits) {
    const std::int64_t line_column =
        std::int64_t{tile.block(first)} * kSide + first_column + 2 * line;
    if (line_column >= end()) break;
    std::uint8_t* const begin = target.codes + line_column * target.pitch;
    const auto store = [&](int at) {
      const int i = first + at;
      begin[at] = reinterpret_cast<const std::uint8_t*>(
          &lines[line][transposed_piece(line, i / 16)])[i % 16];
    };
    const int head = min(head_of(begin), valid);
    const int tail = head + (valid - head) / 4 * 4;
    if (code < head) store(code);
    if (tail + code < valid) store(tail + code);
  }
}

/// Stores eight lines that are in shared memory; the warp calls, after __syncwarp().
template <class End>
__device__ __forceinline__ void store_transposed_lines(const TransposedLines& lines,
                                                       const Tile& tile,
                                                       const TransposedTarget& target,
                                                       int first_column, const End& end) {
  if (tile.out_m % 16 == 0) {
    store_whole_lines(lines, tile, target, first_column, end);
  } else {
    store_unaligned_lines(lines, tile, target, first_column, end);
  }
}

}  // namespace kernels::tiles
