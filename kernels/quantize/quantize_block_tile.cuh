// Block scaling, and per-tensor scaling with a given scale, as a worker of the tile pipeline.
//
// Rowwise, a warp owns 16 lines and sixteen lanes share a line, 8 elements each. Columnwise, a warp
// owns 16 columns and a lane two of them in 32 rows, so that a column's amax needs two shuffles and
// its transposed line stays within the warp: warps need not wait for each other. Four codes of a
// column are packed into one word in registers; eight lines at a time pass through 1 KiB of the
// warp's own shared memory and are stored as whole 128-byte lines. Segments of the tile are padded
// and pieces of a line permuted, so that no access has bank conflicts.
#pragma once

#include "kernels/common/tile_pipeline.cuh"
#include "kernels/common/tile_work.cuh"
#include "kernels/quantize/block_launch.cuh"
#include "kernels/quantize/quantize_per_tensor.h"

namespace kernels::tiles {

/// What one scale covers.
enum class TileScaling {
  Block1x128,    // 128 elements of a row, and 128 of a column
  Block128x128,  // a block
  PerTensor,     // a group; the scale is an input
};

struct TileParameters {
  QuantizeBlockArgs args;
  ScaleRule rule = {};
  // Per-tensor only, see quantize_per_tensor.h:
  const float* group_scale = nullptr;
  float* group_amax = nullptr;
  float* group_scale_inv = nullptr;

  __host__ __device__ TileOperand operand() const {
    const bool bias = args.bias_partials != nullptr;
    return {.input = args.input,
            .output_rows = args.output_rows,
            .controls = args.controls,
            .second_sums = bias,
            .ignores_noop = bias};
  }
};

inline TileParameters per_tensor_parameters(const QuantizePerTensorArgs& args) {
  return {.args = {.input = args.input,
                   .output_rows = args.output_rows,
                   .format = args.format,
                   .rowwise = {.codes = args.rowwise},
                   .columnwise = {.codes = args.columnwise},
                   .bias_partials = args.bias_partials,
                   .controls = args.controls},
          .group_scale = args.scale,
          .group_amax = args.amax,
          .group_scale_inv = args.scale_inv};
}

/// This warp's lines: amax and scale of each (1x128; otherwise the block's scale), codes.
template <InputType kType, Fp8Format kFormat, TileScaling kScaling, TileInput kInput>
__device__ __forceinline__ void quantize_rows(const TileParameters& parameters, const Tile& tile,
                                              const RawStep<kType> (&values)[kPasses],
                                              float block_scale) {
  const QuantizeBlockArgs& args = parameters.args;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int step = lane % kLanesPerRow;
  const int first_line =
      static_cast<int>(threadIdx.x / 32) * (kSide / kWarps) + lane / kLanesPerRow;
  // The warp's lines are rows of one block of columns.
  const int row = tile.row(first_line);
  const int block = tile.block(first_line);
  const std::int64_t steps_per_row = args.input.columns / kStep;
  float row_scale = block_scale;  // 1x128: of the thread's line lane / 2 (of the sixteen lanes)
  if constexpr (kScaling == TileScaling::Block1x128) {
    const auto blocks_per_row = static_cast<int>(ceil_div(args.input.columns, kBlock));
    const float row_amax = scatter_row_amax<kType>(values);
    row_scale = scale_from_amax(row_amax, parameters.rule);
    const auto end_block =
        static_cast<int>(ceil_div(end_column<kInput>(tile, args.input.columns), kBlock));
    const int scaled_row = row + step / 2 * 2;
    if (lane % 2 == 0 && scaled_row < tile.rowwise_rows && block < end_block) {
      const std::int64_t padded = (tile.rowwise_m + 3) / 4 * 4;
      store_block_scale(args.rowwise, row_amax, row_scale,
                        4 * std::int64_t{tile.first_sum} * blocks_per_row + block * padded +
                            tile.strip_in_group * kSide + scaled_row);
    }
  }
  const std::int64_t in_row = std::int64_t{block} * kLanesPerRow + step;
  const int rows_left =
      in_row < end_column<kInput>(tile, args.input.columns) / kStep ? tile.rowwise_rows - row : 0;
  auto* codes = reinterpret_cast<uint2*>(args.rowwise.codes) +
                ((tile.rowwise_first + row) * steps_per_row + in_row);
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    float scale = block_scale;
    if constexpr (kScaling == TileScaling::Block1x128) {
      scale = __shfl_sync(kFullWarp, row_scale, (lane & kLanesPerRow) + 2 * pass);
    }
    if (2 * pass < rows_left) store_codes<kType, kFormat>(values[pass], scale, codes);
    codes += 2 * steps_per_row;
  }
}

/// This warp's 16 columns: amax and scale of each (1x128), sums, transposed codes.
template <InputType kType, Fp8Format kFormat, TileScaling kScaling, TileInput kInput>
__device__ __forceinline__ void quantize_columns(const TileParameters& parameters, const Tile& tile,
                                                 const RawTile<kType>& raw, TransposedLines& lines,
                                                 bool quantizes, float block_scale) {
  const QuantizeBlockArgs& args = parameters.args;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int pair = lane % kWarpPairs;
  const int segment = lane / kWarpPairs;
  const int warp_column = static_cast<int>(threadIdx.x / 32) * 2 * kWarpPairs;
  const int column = warp_column + 2 * pair;  // inside the block
  const std::int64_t full_column =
      std::int64_t{tile.block(segment * kSegmentRows)} * kSide + column;
  // Read whenever it is compared: kept, it would take registers from the elements.
  const auto end = [&tile, columns = args.input.columns] {
    return end_column<kInput>(tile, columns);
  };
  const bool inside = full_column < end();
  const int row_segment = tile.row(segment * kSegmentRows) / kSegmentRows;
  // 16-bit pairs stay in registers; FP32 pairs do not fit and are read again.
  constexpr bool kKeep = kType != InputType::Fp32;
  constexpr int kPairsPerPiece = kKeep ? 4 : 2;
  const int piece = column / 2 / kPairsPerPiece;
  std::uint32_t kept[kKeep ? kSegmentRows : 1];
  if constexpr (kKeep) {
#pragma unroll
    for (int i = 0; i < kSegmentRows; ++i) {
      kept[i] = reinterpret_cast<const std::uint32_t*>(
          &raw.row(segment * kSegmentRows, i)[piece])[pair % kPairsPerPiece];
    }
  }
  const auto values_at = [&](int i) {
    if constexpr (kKeep) {
      return word_values<kType>(kept[i]);
    } else {
      return reinterpret_cast<const float2*>(
          &raw.row(segment * kSegmentRows, i)[piece])[pair % kPairsPerPiece];
    }
  };

  if (args.bias_partials != nullptr) {
    // The order of bias/bias.h: segments of 16 rows, two of them here.
    float2 sums[2] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll 16
      for (int i = 0; i < 16; ++i) {
        const float2 values = values_at(half * 16 + i);
        sums[half] = {__fadd_rn(sums[half].x, values.x), __fadd_rn(sums[half].y, values.y)};
      }
    }
    float2 sum = {__fadd_rn(sums[0].x, sums[1].x), __fadd_rn(sums[0].y, sums[1].y)};
    // The missing segments of a narrow block would add +0.
    for (int bits = 5; bits < tile.row_bits; ++bits) {
      const int distance = kWarpPairs << (bits - 5);
      sum = {__fadd_rn(sum.x, __shfl_xor_sync(kFullWarp, sum.x, distance)),
             __fadd_rn(sum.y, __shfl_xor_sync(kFullWarp, sum.y, distance))};
    }
    if (row_segment == 0 && tile.in_rows > 0 && inside) {
      *reinterpret_cast<float2*>(args.bias_partials +
                                 (std::int64_t{tile.second_sum} + tile.strip_in_group) *
                                     args.input.columns +
                                 full_column) = sum;
    }
  }
  if (args.columnwise.codes == nullptr || !quantizes) return;

  float2 scale = {block_scale, block_scale};
  if constexpr (kScaling == TileScaling::Block1x128) {
    float2 amax = {0.0F, 0.0F};
    if constexpr (kKeep) {
      std::uint32_t packed = 0;
#pragma unroll
      for (int i = 0; i < kSegmentRows; ++i) packed = max_of_words<kType>(packed, kept[i]);
      for (int bits = 5; bits < tile.row_bits; ++bits) {
        const int distance = kWarpPairs << (bits - 5);
        packed = max_of_words<kType>(packed, __shfl_xor_sync(kFullWarp, packed, distance));
      }
      amax = word_values<kType>(packed & kMagnitudes);
    } else {
#pragma unroll 8
      for (int i = 0; i < kSegmentRows; ++i) {
        const float2 values = values_at(i);
        amax = {fmaxf(amax.x, fabsf(values.x)), fmaxf(amax.y, fabsf(values.y))};
      }
      for (int bits = 5; bits < tile.row_bits; ++bits) {
        const int distance = kWarpPairs << (bits - 5);
        amax = {fmaxf(amax.x, __shfl_xor_sync(kFullWarp, amax.x, distance)),
                fmaxf(amax.y, __shfl_xor_sync(kFullWarp, amax.y, distance))};
      }
    }
    const std::int64_t index = std::int64_t{tile.strip} * args.input.columns + full_column;
    if (tile.row_bits == 5) {
      scale = {scale_from_amax(amax.x, parameters.rule), scale_from_amax(amax.y, parameters.rule)};
      if (inside) {
        store_block_scale(args.columnwise, amax.x, scale.x, index);
        store_block_scale(args.columnwise, amax.y, scale.y, index + 1);
      }
    } else {
      // Even segments compute the scale of the left column, odd ones that of the right.
      const bool right = (segment & 1) != 0;
      const float my_amax = right ? amax.y : amax.x;
      const float my_scale = scale_from_amax(my_amax, parameters.rule);
      const float other = __shfl_xor_sync(kFullWarp, my_scale, kWarpPairs);
      scale = right ? float2{other, my_scale} : float2{my_scale, other};
      if (row_segment < 2 && inside) {
        store_block_scale(args.columnwise, my_amax, my_scale, index + (right ? 1 : 0));
      }
    }
  }
  const bool joined = args.output_rows.joined;
  const TransposedTarget target{.codes = args.columnwise.codes +
                                         tile.out_begin * (joined ? 1 : args.input.columns) +
                                         tile.strip_in_group * kSide,
                                .pitch = joined ? args.output_rows.capacity_rows : tile.out_m};
#pragma unroll
  for (int side = 0; side < 2; ++side) {  // even columns first, then the odd ones
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      std::uint32_t words[4];
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        float v[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float2 values = values_at(half * 16 + word * 4 + i);
          v[i] = side == 0 ? values.x : values.y;
        }
        words[word] = column_word<kFormat>(v[0], v[1], v[2], v[3], side == 0 ? scale.x : scale.y);
      }
      lines[pair][transposed_piece(pair, segment * 2 + half)] = {words[0], words[1], words[2],
                                                                 words[3]};
    }
    __syncwarp();
    store_transposed_lines(lines, tile, target, warp_column + side, end);
    __syncwarp();
  }
}

template <InputType kElement, Fp8Format kFormat, TileScaling kScaling, TileInput kTaken,
          bool kStamp>
class BlockWorker {
 public:
  static constexpr InputType kType = kElement;
  static constexpr TileInput kTileInput = kTaken;
  static constexpr bool kStamped = kStamp;
  static constexpr bool kBackwards = kScaling == TileScaling::PerTensor;
  static constexpr bool kSecondOfInput = true;
  using Parameters = TileParameters;
  struct Shared {
    TransposedLines lines[kWarps];
    float warp_amax[2][kWarps];
  };

  /// 1x128 rowwise scales are padded to 4 rows per group, 128x128 columnwise ones to 4 strips.
  __device__ static int first_units(int m) {
    return kScaling == TileScaling::Block128x128 ? (m + 4 * kSide - 1) / (4 * kSide) : (m + 3) / 4;
  }
  /// Strips of bias partials.
  __device__ static int second_units(int m) { return strips_of(m); }

  __device__ BlockWorker(const Parameters& parameters, Shared& shared, bool quantizes)
      : parameters_(parameters), shared_(shared), quantizes_(quantizes) {
    if constexpr (kScaling == TileScaling::PerTensor) {
      // Here and not with a tile, because an empty group has no tiles.
      if (parameters_.group_scale_inv != nullptr && quantizes_ && blockIdx.x == 0) {
        for (int group = static_cast<int>(threadIdx.x); group < parameters_.args.input.num_groups;
             group += kThreads) {
          parameters_.group_scale_inv[group] = __frcp_rn(parameters_.group_scale[group]);
        }
      }
    }
  }

  __device__ __forceinline__ void work(const Tile& tile, const RawTile<kType>& raw,
                                       std::uint32_t turn) {
    const QuantizeBlockArgs& args = parameters_.args;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const int parity = static_cast<int>(turn & 1);
    const auto blocks_per_row = static_cast<int>(ceil_div(args.input.columns, kBlock));
    const bool columnwise = args.columnwise.codes != nullptr || args.bias_partials != nullptr;
    const bool rowwise = args.rowwise.codes != nullptr && quantizes_;
    const int first_line = warp * kWarpLines + lane / kLanesPerRow;
    float row_scale = 1.0F;     // 128x128: of the block of this warp's lines
    float column_scale = 1.0F;  // 128x128: of the block of this lane's segment
    if constexpr (kScaling == TileScaling::PerTensor) {
      row_scale = column_scale = parameters_.group_scale[tile.group];
    }
    const bool wants_amax =
        kScaling == TileScaling::Block128x128 ||
        (kScaling == TileScaling::PerTensor && parameters_.group_amax != nullptr && quantizes_);
    if (wants_amax || rowwise) {
      RawStep<kType> values[kPasses];
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
        values[pass] = shared_step<kType>(raw, first_line, 2 * pass, lane % kLanesPerRow);
      }
      if constexpr (kScaling == TileScaling::Block128x128) {
        float amax = 0.0F;
#pragma unroll
        for (int pass = 0; pass < kPasses; ++pass) {
          amax = fmaxf(amax, word_amax<kType>(step_amax_word<kType>(values[pass])));
        }
        const unsigned largest = __reduce_max_sync(kFullWarp, __float_as_uint(amax));
        // Two sets: a warp may work on the next tile while another still reads this one's.
        if (lane == 0) shared_.warp_amax[parity][warp] = __uint_as_float(largest);
        sync_workers();
        // The lanes of a segment compute the scale of the segment's block.
        const int line = lane / kWarpPairs * kSegmentRows;
        const int first_warp = (line >> tile.row_bits << tile.row_bits) / kWarpLines;
        const int end_warp = first_warp + (1 << tile.row_bits) / kWarpLines;
        amax = 0.0F;
#pragma unroll
        for (int w = 0; w < kWarps; ++w) {
          if (w >= first_warp && w < end_warp) amax = fmaxf(amax, shared_.warp_amax[parity][w]);
        }
        column_scale = scale_from_amax(amax, parameters_.rule);
        row_scale =
            __shfl_sync(kFullWarp, column_scale, warp * kWarpLines / kSegmentRows * kWarpPairs);
        const int bx = tile.block(line);
        const auto end_block =
            static_cast<int>(ceil_div(end_column<kTileInput>(tile, args.input.columns), kBlock));
        if (warp == 0 && lane % kWarpPairs == 0 && tile.row(line) == 0 && bx < end_block &&
            quantizes_) {
          if (args.rowwise.codes != nullptr) {
            store_block_scale(args.rowwise, amax, column_scale,
                              std::int64_t{tile.strip} * ((blocks_per_row + 3) / 4 * 4) + bx);
          }
          if (args.columnwise.codes != nullptr) {
            const std::int64_t padded = (tile.out_m + 4 * kSide - 1) / (4 * kSide) * 4;
            store_block_scale(args.columnwise, amax, column_scale,
                              4 * std::int64_t{tile.first_sum} * blocks_per_row + bx * padded +
                                  tile.strip_in_group);
          }
        }
      }
      if constexpr (kScaling == TileScaling::PerTensor) {
        if (wants_amax) {
          if (tile.group != amax_group_) flush_amax();
          amax_group_ = tile.group;
#pragma unroll
          for (int pass = 0; pass < kPasses; ++pass) {
            amax_ = fmaxf(amax_, word_amax<kType>(step_amax_word<kType>(values[pass])));
          }
        }
      }
      if (rowwise) {
        quantize_rows<kType, kFormat, kScaling, kTileInput>(parameters_, tile, values, row_scale);
      }
    }
    if (columnwise) {
      quantize_columns<kType, kFormat, kScaling, kTileInput>(
          parameters_, tile, raw, shared_.lines[warp], quantizes_, column_scale);
    }
  }

  __device__ void finish() { flush_amax(); }

 private:
  /// A warp's maximum of a group costs one atomic, not one per tile.
  __device__ void flush_amax() {
    if (kScaling != TileScaling::PerTensor || amax_group_ < 0) return;
    const unsigned largest = __reduce_max_sync(kFullWarp, __float_as_uint(amax_));
    // Magnitudes order like their bits. Read first: most candidates are below the current value,
    // and atomics on one address serialize.
    auto* target = reinterpret_cast<unsigned*>(parameters_.group_amax + amax_group_);
    if (threadIdx.x % 32 == 0 && largest > __ldcg(target)) atomicMax(target, largest);
    amax_ = 0.0F;
  }

  const Parameters& parameters_;
  Shared& shared_;
  bool quantizes_;
  int amax_group_ = -1;
  float amax_ = 0.0F;
};

template <TileScaling kScaling>
cudaError_t launch_block_tiles(const TileParameters& parameters, LaunchStream stream) {
  const auto launch = [&]<InputType kType, Fp8Format kFormat, TileInput kInput, bool kStamped>() {
    using Worker = BlockWorker<kType, kFormat, kScaling, kInput, kStamped>;
    return launch_tiles<Worker>(parameters, stream);
  };
  return dispatch_tiles(parameters.operand(), parameters.args.format, launch);
}

}  // namespace kernels::tiles
