// MXFP8 as a worker of the tile pipeline.
//
// Rowwise, four lanes hold a block of 32 columns of one line, 8 elements each. Columnwise, a warp
// owns 32 lines of 64 columns, a lane four columns of 16 of these lines: a block's amax needs one
// shuffle, and a row's codes are stored as words.
#pragma once

#include "kernels/common/micro_scale_rule.h"
#include "kernels/common/tile_pipeline.cuh"
#include "kernels/quantize/micro_scale_rows.cuh"
#include "kernels/quantize/quantize_mxfp8.h"

namespace kernels::tiles {

struct Mxfp8Parameters {
  QuantizeMxfp8Args args;

  __host__ __device__ TileOperand operand() const {
    const bool bias = args.bias_partials != nullptr;
    return {.input = args.input,
            .output_rows = args.output_rows,
            .controls = args.controls,
            .second_sums = bias,
            .ignores_noop = bias};
  }
};

/// e8m0_round_up() and mx_multiplier_bits() without branches; not for NaN, which an amax never is.
KERNELS_HOST_DEVICE constexpr std::uint32_t mx_round_up(std::uint32_t bits) {
  const std::uint32_t rounded = (bits + 0x7FFFFFU) >> 23;
  const std::uint32_t byte = rounded < 0xFEU ? rounded : 0xFEU;
  return bits > 0x400000U ? byte : 0U;
}
KERNELS_HOST_DEVICE constexpr std::uint32_t mx_inverse_bits(std::uint32_t byte) {
  const std::uint32_t bits = (254U - byte) << 23;
  return bits > 0x400000U ? bits : 0x400000U;
}

template <Fp8Format kFormat>
__device__ __forceinline__ std::uint32_t mx_byte(float amax) {
  return mx_round_up(
      __float_as_uint(__fmul_rn(amax, __uint_as_float(mx_reciprocal_bits(kFormat)))));
}

__device__ __forceinline__ float mx_multiplier(std::uint32_t byte) {
  return __uint_as_float(mx_inverse_bits(byte));
}

template <InputType kElement, Fp8Format kFormat, TileInput kTaken, bool kStamp>
class Mxfp8Worker {
 public:
  static constexpr InputType kType = kElement;
  static constexpr TileInput kTileInput = kTaken;
  static constexpr bool kStamped = kStamp;
  static constexpr bool kBackwards = false;
  static constexpr bool kSecondOfInput = true;
  using Parameters = Mxfp8Parameters;
  struct Shared {
    float bias[kSegments][kSide];
    std::uint8_t squares[2][kSegments][4];  // scale bytes of the 32 x 32 squares of a tile
  };

  __device__ static int first_units(int) { return 0; }
  __device__ static int second_units(int m) { return strips_of(m); }

  __device__ Mxfp8Worker(const Parameters& parameters, Shared& shared, bool quantizes)
      : args_(parameters.args),
        shared_(shared),
        quantizes_(quantizes),
        warp_(static_cast<int>(threadIdx.x) / 32),
        lane_(static_cast<int>(threadIdx.x) & 31),
        columns_(args_.input.columns) {}

  __device__ __forceinline__ void work(const Tile& tile, const RawTile<kType>& raw,
                                       std::uint32_t turn) {
    warp_ = not_invariant(warp_);
    lane_ = not_invariant(lane_);
    columns_ = not_invariant(columns_);
    const int parity = static_cast<int>(turn & 1);
    const bool rows = args_.rowwise.codes != nullptr && quantizes_;
    const bool columns = args_.columnwise.codes != nullptr && quantizes_;
    if (args_.square_blocks && rows && !columns) square_bytes(tile, raw, parity);
    if (columns || args_.bias_partials != nullptr) quantize_columns(tile, raw, parity, columns);
    if (rows) {
      if (args_.square_blocks) sync_workers();
      if (is_whole(tile, end_column(tile))) {
        quantize_rows<true>(tile, raw, parity);
      } else {
        quantize_rows<false>(tile, raw, parity);
      }
    }
    if (tile.row_bits < 7 && quantizes_) clear_missing_lines(tile, rows, columns);
  }

  __device__ void finish() {}

 private:
  static constexpr bool kKeep = kType != InputType::Fp32;
  static constexpr int kRows = 16;  // lines per lane, columnwise
  using Quad = std::conditional_t<kKeep, uint2, float4>;

  __device__ __forceinline__ std::int64_t end_column(const Tile& tile) const {
    return tiles::end_column<kTileInput>(tile, columns_);
  }
  __device__ int segment() const { return warp_ / 2; }
  __device__ int column() const { return warp_ % 2 * 64 + lane_ % 16 * 4; }  // inside the block
  __device__ int first_line() const { return segment() * kSegmentRows + lane_ / 16 * kRows; }

  __device__ __forceinline__ Quad quad(const RawTile<kType>& raw, int i) const {
    return reinterpret_cast<const Quad*>(raw.row(first_line(), i))[column() / 4];
  }
  __device__ __forceinline__ static float4 widened(const Quad& quad) {
    if constexpr (kKeep) {
      const float2 low = word_values<kType>(quad.x);
      const float2 high = word_values<kType>(quad.y);
      return {low.x, low.y, high.x, high.y};
    } else {
      return quad;
    }
  }

  /// Amax of the lane's four columns over the 32 lines of the segment.
  __device__ __forceinline__ float4 column_amax(const RawTile<kType>& raw, const Quad* kept) const {
    float4 amax = {0.0F, 0.0F, 0.0F, 0.0F};
    if constexpr (kKeep) {
      std::uint32_t low = 0;
      std::uint32_t high = 0;
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        low = max_of_words<kType>(low, kept[i].x);
        high = max_of_words<kType>(high, kept[i].y);
      }
      low = max_of_words<kType>(low, __shfl_xor_sync(kFullWarp, low, 16));
      high = max_of_words<kType>(high, __shfl_xor_sync(kFullWarp, high, 16));
      amax = widened({low & kMagnitudes, high & kMagnitudes});
    } else {
#pragma unroll 4
      for (int i = 0; i < kRows; ++i) {
        const float4 v = widened(quad(raw, i));
        amax = {fmaxf(amax.x, fabsf(v.x)), fmaxf(amax.y, fabsf(v.y)), fmaxf(amax.z, fabsf(v.z)),
                fmaxf(amax.w, fabsf(v.w))};
      }
      amax = {fmaxf(amax.x, __shfl_xor_sync(kFullWarp, amax.x, 16)),
              fmaxf(amax.y, __shfl_xor_sync(kFullWarp, amax.y, 16)),
              fmaxf(amax.z, __shfl_xor_sync(kFullWarp, amax.z, 16)),
              fmaxf(amax.w, __shfl_xor_sync(kFullWarp, amax.w, 16))};
    }
    return amax;
  }

  /// The scale byte of the square that contains this lane's columns.
  __device__ __forceinline__ std::uint32_t square_byte(const float4& amax) const {
    float largest = fmaxf(fmaxf(amax.x, amax.y), fmaxf(amax.z, amax.w));
#pragma unroll
    for (int distance = 1; distance < 8; distance *= 2) {
      largest = fmaxf(largest, __shfl_xor_sync(kFullWarp, largest, distance));
    }
    return mx_byte<kFormat>(largest);
  }

  __device__ __forceinline__ void share_square(std::uint32_t byte, int parity) {
    if (lane_ % 8 == 0 && lane_ < 16) {
      shared_.squares[parity][segment()][column() / 32] = static_cast<std::uint8_t>(byte);
    }
  }

  __device__ void square_bytes(const Tile&, const RawTile<kType>& raw, int parity) {
    Quad kept[kKeep ? kRows : 1] = {};
    if constexpr (kKeep) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) kept[i] = quad(raw, i);
    }
    share_square(square_byte(column_amax(raw, kept)), parity);
  }

  __device__ __forceinline__ void quantize_columns(const Tile& tile, const RawTile<kType>& raw,
                                                   int parity, bool quantizes) {
    Quad kept[kKeep ? kRows : 1] = {};
    if constexpr (kKeep) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) kept[i] = quad(raw, i);
    }
    const auto values_at = [&](int i) {
      return widened(kKeep ? kept[kKeep ? i : 0] : quad(raw, i));
    };
    if (args_.bias_partials != nullptr) {
      float4 sum = {0.0F, 0.0F, 0.0F, 0.0F};
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const float4 v = values_at(i);
        sum = {__fadd_rn(sum.x, v.x), __fadd_rn(sum.y, v.y), __fadd_rn(sum.z, v.z),
               __fadd_rn(sum.w, v.w)};
      }
      store_bias(tile, sum);
    }
    if (!quantizes) return;
    const float4 amax = column_amax(raw, kept);
    std::uint32_t bytes;  // of the four columns
    if (args_.square_blocks) {
      const std::uint32_t byte = square_byte(amax);
      share_square(byte, parity);
      bytes = byte * 0x01010101U;
    } else {
      // Each half of the warp computes two of the four.
      const bool upper = lane_ >= 16;
      const std::uint32_t mine = mx_byte<kFormat>(upper ? amax.z : amax.x) |
                                 mx_byte<kFormat>(upper ? amax.w : amax.y) << 8;
      const std::uint32_t other = __shfl_xor_sync(kFullWarp, mine, 16);
      bytes = upper ? other | mine << 16 : mine | other << 16;
    }
    const std::int64_t full_column =
        std::int64_t{tile.block(segment() * kSegmentRows)} * kSide + column();
    const bool inside = full_column < end_column(tile);
    const int first_row = tile.row(segment() * kSegmentRows);
    if (lane_ < 16) {
      const bool real = inside && first_row < tile.out_rows;
      store_column_scales(tile, full_column, tile.strip_in_group * 4 + first_row / 32,
                          real ? bytes : 0U);
    }
    const float4 scale = {mx_multiplier(bytes & 0xFF), mx_multiplier(bytes >> 8 & 0xFF),
                          mx_multiplier(bytes >> 16 & 0xFF), mx_multiplier(bytes >> 24)};
    const int row = tile.row(first_line());
    std::uint8_t* target = args_.columnwise.codes +
                           (tile.out_begin + tile.strip_in_group * kSide + row) * columns_ +
                           full_column;
    const std::int64_t pitch = columns_;
    const auto codes_at = [&](int i) {
      const float4 v = values_at(i);
      constexpr __nv_fp8_interpretation_t kTarget =
          kFormat == Fp8Format::E4m3 ? __NV_E4M3 : __NV_E5M2;
      const std::uint32_t low = __nv_cvt_float2_to_fp8x2(
          {__fmul_rn(v.x, scale.x), __fmul_rn(v.y, scale.y)}, __NV_SATFINITE, kTarget);
      const std::uint32_t high = __nv_cvt_float2_to_fp8x2(
          {__fmul_rn(v.z, scale.z), __fmul_rn(v.w, scale.w)}, __NV_SATFINITE, kTarget);
      return low | high << 16;
    };
    if (row + kRows <= tile.out_rows && inside) {
#pragma unroll
      for (int i = 0; i < kRows; ++i, target += pitch) {
        *reinterpret_cast<std::uint32_t*>(target) = codes_at(i);
      }
    } else if (inside) {
#pragma unroll
      for (int i = 0; i < kRows; ++i, target += pitch) {
        if (row + i < tile.out_rows) *reinterpret_cast<std::uint32_t*>(target) = codes_at(i);
      }
    }
  }

  /// Segments of 16 lines combine as defined in bias/bias.h.
  __device__ void store_bias(const Tile& tile, float4 sum) {
    sum = {__fadd_rn(sum.x, __shfl_xor_sync(kFullWarp, sum.x, 16)),
           __fadd_rn(sum.y, __shfl_xor_sync(kFullWarp, sum.y, 16)),
           __fadd_rn(sum.z, __shfl_xor_sync(kFullWarp, sum.z, 16)),
           __fadd_rn(sum.w, __shfl_xor_sync(kFullWarp, sum.w, 16))};
    if (lane_ < 16) *reinterpret_cast<float4*>(&shared_.bias[segment()][column()]) = sum;
    sync_workers();
    const int lines = 1 << (tile.row_bits - 5);  // segments per block
    for (int i = static_cast<int>(threadIdx.x); i < kSide * kSegments / lines; i += kThreads) {
      const int first = i / kSide * lines;
      const float* bias = &shared_.bias[first][i % kSide];
      float total = bias[0];
      if (lines >= 2) total = __fadd_rn(total, bias[kSide]);
      if (lines == 4) total = __fadd_rn(total, __fadd_rn(bias[2 * kSide], bias[3 * kSide]));
      const std::int64_t target = (std::int64_t{tile.bx} + i / kSide) * kSide + i % kSide;
      if (tile.in_rows > 0 && target < end_column(tile)) {
        args_.bias_partials[(std::int64_t{tile.second_sum} + tile.strip_in_group) * columns_ +
                            target] = total;
      }
    }
    sync_workers();
  }

  __device__ std::int64_t scales_per_row() const { return ceil_div(columns_, kMxBlock); }
  __device__ RowScales row_scales(const Tile& tile) const {
    const std::int64_t group =
        (std::int64_t{tile.strip} - tile.strip_in_group) * kSide * round_up(scales_per_row(), 4);
    return {args_.rowwise.scales + group, scales_per_row(), args_.layout};
  }

  /// kWhole: no bounds checks needed, see is_whole().
  template <bool kWhole>
  __device__ __forceinline__ void quantize_rows(const Tile& tile, const RawTile<kType>& raw,
                                                int parity) {
    const int step = lane_ % kLanesPerRow;
    const InterleavedLines lines(warp_, lane_);
    RawStep<kType> values[kPasses];
    AmaxWord<kType> amax[kPasses];
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      values[pass] = shared_step<kType>(raw, lines.line(0), lines.further(pass), step);
      amax[pass] = step_amax_word(values[pass]);
    }
    std::uint32_t bytes;  // of passes 2 * (lane % 4) and the next
    if (args_.square_blocks) {
      bytes = shared_.squares[parity][lane_ % 4][step / 4] * 0x101U;
    } else {
#pragma unroll
      for (int half = 4; half > 1; half /= 2) {
        const bool upper = (lane_ & (half / 2)) != 0;
#pragma unroll
        for (int i = 0; i < half; ++i) {
          const AmaxWord<kType> kept = upper ? amax[i + half] : amax[i];
          const AmaxWord<kType> given = upper ? amax[i] : amax[i + half];
          amax[i] = max_of_words<kType>(kept, __shfl_xor_sync(kFullWarp, given, half / 2));
        }
      }
      bytes = mx_byte<kFormat>(word_amax<kType>(amax[0])) |
              mx_byte<kFormat>(word_amax<kType>(amax[1])) << 8;
    }
    store_row_scales<kWhole>(tile, lines, bytes);
    const std::int64_t steps_per_row = columns_ / kStep;
    const LineDistances distances(tile, steps_per_row);
    const std::int64_t first =
        (tile.out_begin + std::int64_t{tile.strip_in_group} * kSide + lines.line(0)) *
            steps_per_row +
        std::int64_t{tile.bx} * kLanesPerRow + step;
#pragma unroll
    for (int q = 0; q < kPasses / 2; ++q) {
      const std::uint32_t pair = __shfl_sync(kFullWarp, bytes, (lane_ & ~3) | q);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int pass = 2 * q + i;
        const int line = lines.line(pass);
        const float scale = mx_multiplier(pair >> (8 * i) & 0xFF);
        if (kWhole ||
            (tile.row(line) < tile.out_rows &&
             std::int64_t{tile.block(line)} * kLanesPerRow + step < end_column(tile) / kStep)) {
          store_codes<kType, kFormat>(
              values[pass], scale,
              distances.after(reinterpret_cast<uint2*>(args_.rowwise.codes) + first, pass));
        }
      }
    }
  }

  /// `bytes`: of block step / 4 in the lines of passes 2 * (lane % 4) and the next. The lanes of a
  /// line's four blocks combine them into words.
  template <bool kWhole>
  __device__ __forceinline__ void store_row_scales(const Tile& tile, const InterleavedLines& lines,
                                                   std::uint32_t bytes) const {
    const int segment = lane_ % 4;
    const int x = lane_ % kLanesPerRow / 4;
    if constexpr (!kWhole) {
      const int line = lines.line(2 * segment);
      const bool exists =
          std::int64_t{tile.block(line)} * 4 + x < ceil_div(end_column(tile), kMxBlock);
      if (!exists || tile.row(line) >= tile.out_rows) bytes &= 0xFF00U;
      if (!exists || tile.row(line) + 2 >= tile.out_rows) bytes &= 0x00FFU;
    }
    // Even blocks keep the first line, odd ones the second.
    const std::uint32_t next = __shfl_xor_sync(kFullWarp, bytes, 4);
    const std::uint32_t pair =
        (x & 1) == 0 ? __byte_perm(bytes, next, 0x7740) : __byte_perm(bytes, next, 0x7715);
    const std::uint32_t other = __shfl_xor_sync(kFullWarp, pair, 8);
    if (x >= 2) return;
    const int line = lines.line(2 * segment + x);
    row_scales(tile).store_word(tile, line, std::int64_t{tile.block(line)} * 4,
                                ceil_div(end_column(tile), kMxBlock), pair | other << 16);
  }

  /// Scale bytes of four adjacent columns at row block x.
  __device__ void store_column_scales(const Tile& tile, std::int64_t first_column, std::int64_t x,
                                      std::uint32_t bytes) const {
    const std::int64_t padded = round_up(columns_, kSide);
    if (first_column >= round_up(end_column(tile), kSide)) return;
    std::uint8_t* scales =
        args_.columnwise.scales + padded * 4 * (std::int64_t{tile.strip} - tile.strip_in_group);
    if (args_.layout == MicroScaleLayout::Compact) {
      *reinterpret_cast<std::uint32_t*>(scales + x * padded + first_column) = bytes;
      return;
    }
    const std::int64_t per_line = ceil_div(std::int64_t{tile.out_m}, kMxBlock);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      scales[swizzled_scale_index(first_column + i, x, per_line)] =
          static_cast<std::uint8_t>(bytes >> (8 * i));
    }
  }

  /// For a tile of 32 or 64 rows, zeroes the scales of the strip's other rows.
  __device__ void clear_missing_lines(const Tile& tile, bool rows, bool columns) const {
    // The compact scales of missing rows lie together for both halves of a pair: gate's tiles share
    // the clearing, up's clear none.
    const std::int64_t dealt = takes_gradients(kTileInput) ? dealt_columns(args_.input) : columns_;
    const bool shares = !takes_gradients(kTileInput) || std::int64_t{tile.bx} * kSide < dealt;
    if (rows && shares) row_scales(tile).clear_missing_rows(tile, dealt);
    if (!columns) return;
    const int segments = 1 << (tile.row_bits - 5);  // present
    const std::int64_t padded = round_up(columns_, kSide);
    if (args_.layout == MicroScaleLayout::Compact) {
      if (!shares) return;
      const std::int64_t lines = std::int64_t{tile.strip} * 4 + segments;
      RowScales::clear_share(tile, dealt, args_.columnwise.scales + padded * lines,
                             (4 - segments) * padded);
      return;
    }
    for (int i = static_cast<int>(threadIdx.x); i < (kSide >> tile.row_bits) * kSide / 4;
         i += kThreads) {
      for (int x = segments; x < 4; ++x) {
        store_column_scales(tile, std::int64_t{tile.bx} * kSide + 4 * i,
                            tile.strip_in_group * 4 + x, 0);
      }
    }
  }

  const QuantizeMxfp8Args& args_;
  Shared& shared_;
  bool quantizes_;
  int warp_;
  int lane_;
  std::int64_t columns_;
};

}  // namespace kernels::tiles
