// NVFP4 codes as a worker of the tile pipeline.
//
// Rowwise, two lanes hold a block of 16 columns of a line. Columnwise, a lane owns two columns in
// 32 rows, two blocks of each, so that the Hadamard transform of a block stays in registers; a
// warp's 16 transposed lines pass through its own 1 KiB and are stored in 16-byte pieces.
#pragma once

#include "kernels/common/philox.h"
#include "kernels/common/tile_pipeline.cuh"
#include "kernels/quantize/e2m1_encode.cuh"
#include "kernels/quantize/micro_scale_rows.cuh"
#include "kernels/quantize/nvfp4_columns.cuh"

namespace kernels::tiles {

struct Nvfp4Parameters {
  QuantizeNvfp4Args args;
  __host__ __device__ TileOperand operand() const {
    return {.input = args.input,
            .output_rows = args.output_rows,
            .controls = args.controls,
            .second_sums = true};
  }
};

/// Stochastic rounding is a separate instance: its generator would take registers from the other.
template <InputType kInput, bool kStochastic, bool kStamp>
class Nvfp4Worker {
 public:
  static constexpr InputType kType = kInput;
  static constexpr TileInput kTileInput = TileInput::Plain;
  static constexpr bool kStamped = kStamp;
  static constexpr bool kBackwards = false;
  static constexpr bool kSecondOfInput = false;
  using Parameters = Nvfp4Parameters;
  struct Shared {
    uint4 lines[kWarps][2 * kWarpPairs][kSegments];  // transposed codes: [column][32 rows]
    std::uint8_t squares[2][kSide / kNvElements][kLineBlocks];
  };

  /// Columnwise scales come in groups of four blocks of 16 rows, codes in blocks of 16.
  __device__ static int first_units(int m) { return (m + 63) / 64; }
  __device__ static int second_units(int m) { return (m + 15) / 16; }

  __device__ Nvfp4Worker(const Parameters& parameters, Shared& shared, bool)
      : args_(parameters.args),
        shared_(shared),
        warp_(static_cast<int>(threadIdx.x) / 32),
        lane_(static_cast<int>(threadIdx.x) & 31) {
    if constexpr (kStochastic) {
      seed_ = args_.random_state[0];
      offset_ = args_.random_state[1];
    }
  }

  __device__ __forceinline__ void work(const Tile& tile, const RawTile<kType>& raw,
                                       std::uint32_t turn) {
    const int parity = static_cast<int>(turn & 1);
    const bool rows = args_.rowwise.codes != nullptr;
    const bool columns = args_.columnwise.codes != nullptr;
    if (tile.group != group_) {
      group_ = tile.group;
      if (rows) row_global_ = nvfp4_global_scale(args_.rowwise.amax[group_]);
      if (columns) column_global_ = nvfp4_global_scale(args_.columnwise.amax[group_]);
    }
    if (args_.square_blocks && rows) {
      share_squares(raw, parity);
      sync_workers();
    }
    if (rows) {
      if (is_whole(tile, args_.input.columns)) {
        quantize_rows<true>(tile, raw, parity);
      } else {
        quantize_rows<false>(tile, raw, parity);
      }
    }
    if (columns) quantize_columns(tile, raw);
    if (rows) row_scales(tile).clear_missing_rows(tile, args_.input.columns);
  }

  __device__ void finish() {}

 private:
  __device__ int segment() const { return lane_ / kWarpPairs; }
  __device__ int column() const { return warp_ * 2 * kWarpPairs + lane_ % kWarpPairs * 2; }

  /// Amax of the 16 x 16 square that contains this lane's column block: a warp's sixteen columns.
  __device__ __forceinline__ static float square_amax(float left, float right) {
    float amax = fmaxf(left, right);
#pragma unroll
    for (int distance = 1; distance < kWarpPairs; distance *= 2) {
      amax = fmaxf(amax, __shfl_xor_sync(kFullWarp, amax, distance));
    }
    return amax;
  }

  __device__ void share_squares(const RawTile<kType>& raw, int parity) {
    const Nvfp4GlobalScale& global = row_global_;
#pragma unroll
    for (int block = 0; block < 2; ++block) {
      const ColumnPair<kType> columns(raw, segment() * kSegmentRows + block * kNvElements,
                                      column());
      const float2 pair = columns.amax();
      const float amax = square_amax(pair.x, pair.y);
      if (lane_ % kWarpPairs == 0) {
        shared_.squares[parity][segment() * 2 + block][warp_] =
            static_cast<std::uint8_t>(e4m3_byte(__fmul_rn(amax, global.encode_sixth)));
      }
    }
  }

  __device__ __forceinline__ static SignWords signs_of(const RawStep<kType>& raw,
                                                       const float (&values)[8]) {
    if constexpr (kType == InputType::Fp32) {
      return signs_of_values(values);
    } else {
      return signs_of_pairs(raw.words);
    }
  }

  /// Eight codes, the lowest first. `random` holds their bytes. `multiplier` comes from marked();
  /// `fault` becomes nonzero if the codes must be recomputed by e2m1_codes().
  __device__ __forceinline__ std::uint32_t encode(const float (&values)[8], float multiplier,
                                                  const std::uint32_t* random,
                                                  const SignWords& signs,
                                                  std::uint32_t& fault) const {
    if constexpr (kStochastic) {
      std::uint32_t word = 0;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const std::uint32_t byte = random[i / 4] >> (8 * (i % 4)) & 0xFFU;
        word |= e2m1_encode_stochastic(__fmul_rn(values[i], multiplier), byte) << (4 * i);
      }
      return word;
    } else {
      fault |= __float_as_uint(multiplier) & 0x80000000U;
      return e2m1_codes_below_7(values, multiplier, signs, fault);
    }
  }

  /// nvfp4_multiplier() of every byte. Reciprocals of ordinary numbers are computed in parallel,
  /// without the operand check in each __frcp_rn().
  template <int kCount>
  __device__ __forceinline__ static void multipliers_of(const std::uint32_t (&bytes)[kCount],
                                                        const Nvfp4GlobalScale& global,
                                                        float (&multipliers)[kCount]) {
    bool ordinary = true;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const float scale = __fmul_rn(e4m3_value(bytes[i]), global.decode);
      ordinary = ordinary && scale >= 0x1p-120F && scale <= 0x1p120F;
      float guess;
      asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(guess) : "f"(scale));
      multipliers[i] = __fmaf_rn(guess, -__fmaf_rn(scale, guess, -1.0F), guess);
    }
    if (ordinary) return;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      multipliers[i] = nvfp4_multiplier(e4m3_value(bytes[i]), global);
    }
  }

  /// The multiplier, negated if the fast encoding cannot be used.
  __device__ __forceinline__ static float marked(float multiplier, float amax) {
    return kStochastic || e2m1_below_7(amax, multiplier) ? multiplier : -multiplier;
  }

  __device__ __forceinline__ PhiloxWords random_words(std::int64_t block, bool columnwise) const {
    return philox4x32(static_cast<std::uint64_t>(block) | (columnwise ? kColumnwiseBlockBit : 0),
                      offset_, seed_);
  }

  __device__ __forceinline__ static void widen(const RawStep<kType>& raw, float (&values)[8]) {
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      const float2 v = step_pair(raw, pair);
      values[2 * pair] = v.x;
      values[2 * pair + 1] = v.y;
    }
  }

  __device__ RowScales row_scales(const Tile& tile) const {
    const std::int64_t per_row = args_.input.columns / kNvBlock;
    const std::int64_t group =
        (std::int64_t{tile.strip} - tile.strip_in_group) * kSide * round_up(per_row, 4);
    return {args_.rowwise.scales + group, per_row, args_.layout};
  }

  /// kWhole: no bounds checks needed, see is_whole().
  template <bool kWhole>
  __device__ __forceinline__ void quantize_rows(const Tile& tile, const RawTile<kType>& raw,
                                                int parity) {
    const Nvfp4GlobalScale& global = row_global_;
    const int step = lane_ % kLanesPerRow;
    const InterleavedLines lines(warp_, lane_);
    RawStep<kType> values[kPasses];
    // Adjacent lanes share a block: the even one computes the first four scales, the odd one the
    // others, and they exchange.
    AmaxWord<kType> amax[kPasses];
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      values[pass] = shared_step<kType>(raw, lines.line(0), lines.further(pass), step);
      amax[pass] = step_amax_word(values[pass]);
    }
    const bool odd = (lane_ & 1) != 0;
    std::uint32_t mine[kPasses / 2];
    float largest[kPasses / 2];
#pragma unroll
    for (int i = 0; i < kPasses / 2; ++i) {
      const AmaxWord<kType> kept = odd ? amax[i + 4] : amax[i];
      const AmaxWord<kType> given = odd ? amax[i] : amax[i + 4];
      largest[i] =
          word_amax<kType>(max_of_words<kType>(kept, __shfl_xor_sync(kFullWarp, given, 1)));
      mine[i] = e4m3_byte(__fmul_rn(largest[i], global.encode_sixth));
    }
    if (args_.square_blocks) {
#pragma unroll
      for (int i = 0; i < kPasses / 2; ++i) {
        mine[i] = shared_.squares[parity][lines.line(odd ? i + 4 : i) / kNvElements][step / 2];
      }
    }
    float multipliers[kPasses / 2];
    multipliers_of(mine, global, multipliers);
#pragma unroll
    for (int i = 0; i < kPasses / 2; ++i) multipliers[i] = marked(multipliers[i], largest[i]);
    store_row_scales<kWhole>(tile, lines, mine);
    const auto multiplier_of = [&](float two_passes, int pass) {
      return __shfl_sync(kFullWarp, two_passes, (lane_ & ~1) | (pass >= 4 ? 1 : 0));
    };
    const std::int64_t steps_per_row = args_.input.columns / kStep;
    const LineDistances distances(tile, steps_per_row);
    const std::int64_t first =
        (tile.out_begin + std::int64_t{tile.strip_in_group} * kSide + lines.line(0)) *
            steps_per_row +
        std::int64_t{tile.bx} * kLanesPerRow + step;
    const auto is_real = [&](int pass) {
      const int line = lines.line(pass);
      return kWhole || (tile.row(line) < tile.out_rows &&
                        std::int64_t{tile.block(line)} * kLanesPerRow + step < steps_per_row);
    };
    auto* const codes = reinterpret_cast<std::uint32_t*>(args_.rowwise.codes);
    std::uint32_t fault = 0;
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const float multiplier = multiplier_of(multipliers[pass % 4], pass);
      if (!is_real(pass)) continue;
      float widened[8];
      widen(values[pass], widened);
      std::uint32_t* const to = distances.after(codes + first, pass);
      PhiloxWords random = {};
      if constexpr (kStochastic) random = random_words((to - codes) / 2, false);
      const std::uint32_t* const bytes = random.words + (step % 2) * 2;
      const SignWords signs = signs_of(values[pass], widened);
      *to = encode(widened, multiplier, bytes, signs, fault);
    }
    if constexpr (!kStochastic) {
      if (!__any_sync(kFullWarp, fault != 0)) return;
#pragma unroll 1
      for (int pass = 0; pass < kPasses; ++pass) {
        const float low = (pass & 1) != 0 ? multipliers[1] : multipliers[0];
        const float high = (pass & 1) != 0 ? multipliers[3] : multipliers[2];
        const float multiplier = multiplier_of((pass & 2) != 0 ? high : low, pass);
        if (!is_real(pass)) continue;
        float widened[8];
        widen(shared_step<kType>(raw, lines.line(0), lines.further(pass), step), widened);
        *distances.after(codes + first, pass) = e2m1_codes(widened, fabsf(multiplier));
      }
    }
  }

  /// `bytes`: of block step / 2 in the lines of the first four passes, in odd lanes the last four.
  /// The lanes of four blocks exchange them, so that each gets one line's word.
  template <bool kWhole>
  __device__ __forceinline__ void store_row_scales(const Tile& tile, const InterleavedLines& lines,
                                                   const std::uint32_t (&bytes)[4]) const {
    const int first_pass = (lane_ & 1) * 4;
    const int x = lane_ % kLanesPerRow / 2;
    std::uint32_t word = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int line = lines.line(first_pass + i);
      const bool real = kWhole || (tile.row(line) < tile.out_rows &&
                                   std::int64_t{tile.block(line)} * kLineBlocks + x <
                                       args_.input.columns / kNvBlock);
      if (real) word |= bytes[i] << (8 * i);
    }
    // A transpose of 4 x 4 bytes.
    std::uint32_t other = __shfl_xor_sync(kFullWarp, word, 2);
    word = __byte_perm(word, other, (x & 1) == 0 ? 0x6240 : 0x3715);
    other = __shfl_xor_sync(kFullWarp, word, 4);
    word = __byte_perm(word, other, (x & 2) == 0 ? 0x5410 : 0x3276);
    const int line = lines.line(first_pass + x % 4);
    row_scales(tile).store_word(tile, line,
                                std::int64_t{tile.block(line)} * kLineBlocks + x / 4 * 4,
                                args_.input.columns / kNvBlock, word);
  }

  __device__ __forceinline__ void quantize_columns(const Tile& tile, const RawTile<kType>& raw) {
    const Nvfp4GlobalScale& global = column_global_;
    const std::int64_t columns = args_.input.columns;
    const std::int64_t padded = round_up(columns, kSide);
    const std::int64_t per_line = (tile.out_m + 15) / 16;
    const std::int64_t line_bytes = per_line * 8;
    const std::int64_t code_base = std::int64_t{tile.second_sum} * 8 * columns;
    const std::int64_t full_column =
        std::int64_t{tile.block(segment() * kSegmentRows)} * kSide + column();
    const int first_row = tile.row(segment() * kSegmentRows);
    const std::int64_t first_x = tile.strip_in_group * kLineBlocks + first_row / kNvElements;
    std::uint32_t words[2][4];
    std::uint32_t scales[2] = {0, 0};  // of each column, two bytes each
#pragma unroll
    for (int block = 0; block < 2; ++block) {
      const ColumnPair<kType> pair(raw, segment() * kSegmentRows + block * kNvElements, column());
      const float2 plain = args_.hadamard ? float2{} : pair.amax();
      const float square = args_.square_blocks ? square_amax(plain.x, plain.y) : 0.0F;
      const bool real = full_column < columns && first_row + block * kNvElements < tile.out_rows;
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        float values[kNvElements];
        float amax = side == 0 ? plain.x : plain.y;
        if (args_.hadamard) {
          pair.load_transformed(side, values);
          amax = block_amax(values);
        } else {
          pair.load(side, values);
        }
        const std::uint32_t byte =
            e4m3_byte(__fmul_rn(args_.square_blocks ? square : amax, global.encode_sixth));
        const float multiplier = marked(nvfp4_multiplier(e4m3_value(byte), global), amax);
        if (real) scales[side] |= byte << (8 * block);
        PhiloxWords random = {};
        if (kStochastic && real) {
          random = random_words(
              (code_base + (full_column + side) * line_bytes) / 8 + first_x + block, true);
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float eight[8];
#pragma unroll
          for (int i = 0; i < 8; ++i) eight[i] = values[half * 8 + i];
          std::uint32_t fault = 0;
          std::uint32_t& word = words[side][block * 2 + half];
          const SignWords signs = args_.hadamard ? signs_of_values(eight) : pair.signs(side, half);
          word = encode(eight, multiplier, random.words + half * 2, signs, fault);
          if (fault != 0) word = e2m1_codes(eight, fabsf(multiplier));
        }
      }
    }
    store_column_scales(tile, scales);
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const int line = lane_ % kWarpPairs * 2 + side;
      shared_.lines[warp_][line][segment() ^ (line / 2 & 3)] = {words[side][0], words[side][1],
                                                                words[side][2], words[side][3]};
    }
    __syncwarp();
    const int piece = lane_ % kSegments;  // 32 rows of one block of columns
    const int out_row = tile.row(piece * kSegmentRows);
    const int blocks = (tile.out_rows - out_row + 15) / 16;  // real blocks of this piece
    std::uint8_t* const target = args_.columnwise.codes + code_base +
                                 (std::int64_t{tile.strip_in_group} * kSide + out_row) / 2;
#pragma unroll
    for (int i = 0; i < 2 * kWarpPairs; i += 32 / kSegments) {
      const int line = lane_ / kSegments + i;
      const std::int64_t y =
          std::int64_t{tile.block(piece * kSegmentRows)} * kSide + warp_ * 2 * kWarpPairs + line;
      if (y >= columns || blocks <= 0) continue;
      const uint4 codes = shared_.lines[warp_][line][piece ^ (line / 2 & 3)];
      std::uint8_t* to = target + y * line_bytes;
      if (blocks >= 2 && line_bytes % 16 == 0) {
        *reinterpret_cast<uint4*>(to) = codes;
      } else {
        *reinterpret_cast<uint2*>(to) = {codes.x, codes.y};
        if (blocks >= 2) *reinterpret_cast<uint2*>(to + 8) = {codes.z, codes.w};
      }
    }
    __syncwarp();
  }

  /// `scales`: of this lane's two columns, two bytes each for its 32 rows. Scales come in fours, 64
  /// rows: two segments combine theirs, unless the tile has 32 rows.
  __device__ __forceinline__ void store_column_scales(const Tile& tile,
                                                      const std::uint32_t (&scales)[2]) const {
    const std::int64_t per_line = (tile.out_m + 15) / 16;
    const std::int64_t padded = round_up(args_.input.columns, kSide);
    std::uint8_t* const bytes = args_.columnwise.scales + padded * 4 * std::int64_t{tile.first_sum};
    const auto store = [&](int line, int side, std::uint32_t word) {
      const std::int64_t y = std::int64_t{tile.block(line)} * kSide + column() + side;
      const std::int64_t x = tile.strip_in_group * kLineBlocks + tile.row(line) / kNvElements;
      if (y >= padded) return;
      const std::int64_t at = args_.layout == MicroScaleLayout::Swizzled
                                  ? swizzled_scale_index(y, x, per_line)
                                  : y * round_up(per_line, 4) + x;
      *reinterpret_cast<std::uint32_t*>(bytes + at) = word;
    };
    if (tile.row_bits == 5) {
      store(segment() * kSegmentRows, 0, scales[0]);
      store(segment() * kSegmentRows, 1, scales[1]);
      return;
    }
    const bool second = (segment() & 1) != 0;
    const std::uint32_t given =
        __shfl_xor_sync(kFullWarp, second ? scales[0] : scales[1], kWarpPairs);
    store((segment() & 2) * kSegmentRows, second ? 1 : 0,
          second ? given | scales[1] << 16 : scales[0] | given << 16);
  }

  const QuantizeNvfp4Args& args_;
  Shared& shared_;
  int warp_;
  int lane_;
  int group_ = -1;
  Nvfp4GlobalScale row_global_ = {};
  Nvfp4GlobalScale column_global_ = {};
  std::uint64_t seed_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace kernels::tiles
