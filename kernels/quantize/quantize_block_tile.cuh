// The kernel of quantize_block_tile.h, a template; quantize_block_tile_1x128.cu and _128x128.cu
// make its instances, so that they compile side by side.
#pragma once

#include "kernels/quantize/block_tile.cuh"
#include "kernels/quantize/quantize_block_tile.h"

namespace kernels::block_tile {

struct TileParameters {
  QuantizeBlockArgs args;
  ScaleRule rule;
};

/// One tile of the launch's walk.
struct Tile {
  std::int32_t strip = 0;  // of all groups' outputs, 128 rows each
  int bx = 0;              // block of 128 columns
  int group = 0;
  int strip_in_group = 0;
  int in_rows = 0;             // rows that the group has here; the others count as 0
  int out_rows = 0;            // rows to write
  int columns = 0;             // of this tile
  std::int64_t in_first = 0;   // row of the input
  std::int64_t out_begin = 0;  // the group's first row in the outputs
  std::int64_t out_m = 0;      // its rows there
};

/// Goes over the tiles of this block of threads. Blocks are dealt tiles in turn.
class TileWalk {
 public:
  __device__ TileWalk(const GroupedInput& input, const std::int64_t* out_offsets,
                      const std::int32_t* first_strip)
      : input_(input), out_offsets_(out_offsets), first_strip_(first_strip) {
    blocks_per_row_ = static_cast<int>(ceil_div(input.columns, kBlock));
    strips_ = first_strip[input.num_groups];
    strip_ = static_cast<std::int32_t>(blockIdx.x / static_cast<unsigned>(blocks_per_row_));
    bx_ = static_cast<int>(blockIdx.x % static_cast<unsigned>(blocks_per_row_));
    strip_stride_ = static_cast<std::int32_t>(gridDim.x / static_cast<unsigned>(blocks_per_row_));
    bx_stride_ = static_cast<int>(gridDim.x % static_cast<unsigned>(blocks_per_row_));
  }

  __device__ bool ended() const { return strip_ >= strips_; }

  __device__ Tile tile() {
    if (strip_ >= first_strip_[group_ + 1]) {
      group_ = warp_find_group(first_strip_, input_.num_groups, strip_);
    }
    Tile tile;
    tile.strip = strip_;
    tile.bx = bx_;
    tile.group = group_;
    tile.strip_in_group = strip_ - first_strip_[group_];
    const std::int64_t row_in_group = std::int64_t{tile.strip_in_group} * kSide;
    tile.in_first = input_.row_offsets[group_] + row_in_group;
    const std::int64_t in_left = input_.row_offsets[group_ + 1] - tile.in_first;
    tile.in_rows = static_cast<int>(max(std::int64_t{0}, min(kBlock, in_left)));
    tile.out_begin = out_offsets_[group_];
    tile.out_m = out_offsets_[group_ + 1] - tile.out_begin;
    tile.out_rows = static_cast<int>(min(kBlock, tile.out_m - row_in_group));
    tile.columns = static_cast<int>(min(kBlock, input_.columns - std::int64_t{bx_} * kSide));
    return tile;
  }

  __device__ void advance() {
    strip_ += strip_stride_;
    bx_ += bx_stride_;
    if (bx_ >= blocks_per_row_) {
      bx_ -= blocks_per_row_;
      ++strip_;
    }
  }

 private:
  const GroupedInput& input_;
  const std::int64_t* out_offsets_;
  const std::int32_t* first_strip_;
  int blocks_per_row_;
  std::int32_t strips_;
  std::int32_t strip_;
  int bx_;
  std::int32_t strip_stride_;
  int bx_stride_;
  int group_ = 0;
};

/// Starts to bring a tile to shared memory. Without activation the copies are in flight when this
/// returns.
template <InputType kType, Activation kActivation>
__device__ __forceinline__ void start_load(const GroupedInput& input, const Tile& tile,
                                           uint4 (&raw)[kSide][kRowPieces<kType>]) {
  constexpr int kVectors = RawStep<kType>::kWords / 4;  // 16-byte pieces of a step
  const int thread = static_cast<int>(threadIdx.x);
  if constexpr (kActivation == Activation::None) {
    constexpr int kPieces = kRowPieces<kType>;
    constexpr int kRowsAtOnce = kThreads / kPieces;
    const int piece = thread % kPieces;
    const int first_row = thread / kPieces;
    const bool inside = piece * kStep / kVectors < tile.columns;
    const std::int64_t pieces_per_row = input.columns / kStep * kVectors;
    const uint4* source = static_cast<const uint4*>(input.input) +
                          (tile.in_first + first_row) * pieces_per_row + tile.bx * kPieces + piece;
#pragma unroll
    for (int row = 0; row < kSide; row += kRowsAtOnce) {
      const bool wanted = inside && first_row + row < tile.in_rows;
      // An address outside the operand is never formed, though zeros would not read it.
      copy_piece(&raw[first_row + row][raw_piece<kType>(first_row + row, piece)],
                 wanted ? source + row * pieces_per_row : static_cast<const uint4*>(input.input),
                 wanted);
    }
  } else {
    const int step = thread % kLanesPerRow;
    const bool inside = step * kStep < tile.columns;
#pragma unroll 4
    for (int row = thread / kLanesPerRow; row < kSide; row += kThreads / kLanesPerRow) {
      const RawStep<kType> values =
          inside && row < tile.in_rows
              ? load_activated_step<kType, kActivation>(input, tile.in_first + row,
                                                        tile.bx * kLanesPerRow + step)
              : zero_step<kType>();
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        raw[row][raw_piece<kType>(row, step * kVectors + i)] = {
            values.words[4 * i], values.words[4 * i + 1], values.words[4 * i + 2],
            values.words[4 * i + 3]};
      }
    }
  }
}

template <InputType kType>
__device__ __forceinline__ RawStep<kType> shared_step(const uint4 (&raw)[kSide][kRowPieces<kType>],
                                                      int row, int step) {
  constexpr int kVectors = RawStep<kType>::kWords / 4;
  RawStep<kType> values;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const uint4 piece = raw[row][raw_piece<kType>(row, step * kVectors + i)];
    values.words[4 * i] = piece.x;
    values.words[4 * i + 1] = piece.y;
    values.words[4 * i + 2] = piece.z;
    values.words[4 * i + 3] = piece.w;
  }
  return values;
}

/// The rows of this warp: amax and scale of each (1x128; the tile's own scale otherwise), codes.
template <InputType kType, Fp8Format kFormat, bool kSquare>
__device__ __forceinline__ void quantize_rows(const TileParameters& parameters, const Tile& tile,
                                              const RawStep<kType> (&values)[kPasses],
                                              std::int64_t scale_base, float tile_scale) {
  const QuantizeBlockArgs& args = parameters.args;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int step = lane % kLanesPerRow;
  const int first_row = static_cast<int>(threadIdx.x / 32) * (kSide / kWarps) + lane / kLanesPerRow;
  float row_scale = tile_scale;  // 1x128: of row lane / 2 (of the sixteen lanes) of the thread's
  if constexpr (!kSquare) {
    float amax[kPasses];
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) amax[pass] = packed_step_amax(values[pass]);
    const float row_amax = scatter_row_amax(amax);
    row_scale = scale_from_amax(row_amax, parameters.rule);
    const int row = first_row + step / 2 * 2;
    if (lane % 2 == 0 && row < tile.out_rows) {
      const std::int64_t padded = (tile.out_m + 3) / 4 * 4;
      store_block_scale(args.rowwise, row_amax, row_scale,
                        scale_base + tile.bx * padded + tile.strip_in_group * kSide + row);
    }
  }
  const bool inside = step * kStep < tile.columns;
  const std::int64_t steps_per_row = args.input.columns / kStep;
  const std::int64_t first_step =
      (tile.out_begin + std::int64_t{tile.strip_in_group} * kSide + first_row) * steps_per_row +
      tile.bx * kLanesPerRow + step;
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    float scale = tile_scale;
    if constexpr (!kSquare) {
      scale = __shfl_sync(kFullWarp, row_scale, (lane & kLanesPerRow) + 2 * pass);
    }
    if (inside && first_row + 2 * pass < tile.out_rows) {
      store_codes<kType, kFormat>(values[pass], scale, args.rowwise.codes,
                                  first_step + 2 * pass * steps_per_row);
    }
  }
}

/// The 16 columns of this warp: amax and scale of each (1x128), sums, transposed codes.
template <InputType kType, Fp8Format kFormat, bool kSquare>
__device__ __forceinline__ void quantize_columns(const TileParameters& parameters, const Tile& tile,
                                                 const uint4 (&raw)[kSide][kRowPieces<kType>],
                                                 uint4 (&lines)[kWarpPairs][kSide / 16],
                                                 std::int64_t bias_row, bool quantizes,
                                                 float tile_scale) {
  const QuantizeBlockArgs& args = parameters.args;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int pair = lane % kWarpPairs;
  const int segment = lane / kWarpPairs;
  const int column = static_cast<int>(threadIdx.x / 32) * 2 * kWarpPairs + 2 * pair;
  // Sixteen-bit pairs stay in registers; FP32 ones are read again, there is no room.
  constexpr bool kKeep = kType != InputType::Fp32;
  constexpr int kPairsPerPiece = kKeep ? 4 : 2;
  const int piece = raw_piece<kType>(segment * kSegmentRows, column / 2 / kPairsPerPiece);
  std::uint32_t kept[kKeep ? kSegmentRows : 1];
  if constexpr (kKeep) {
#pragma unroll
    for (int i = 0; i < kSegmentRows; ++i) {
      kept[i] = reinterpret_cast<const std::uint32_t*>(
          &raw[segment * kSegmentRows + i][piece])[pair % kPairsPerPiece];
    }
  }
  const auto values_at = [&](int i) {
    if constexpr (kKeep) {
      return word_values<kType>(kept[i]);
    } else {
      return reinterpret_cast<const float2*>(
          &raw[segment * kSegmentRows + i][piece])[pair % kPairsPerPiece];
    }
  };

  if (args.bias_partials != nullptr) {
    // The order of bias/bias_gradient.h: segments of 16 rows, two of them here.
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
#pragma unroll
    for (int distance = kWarpPairs; distance < 32; distance *= 2) {
      sum = {__fadd_rn(sum.x, __shfl_xor_sync(kFullWarp, sum.x, distance)),
             __fadd_rn(sum.y, __shfl_xor_sync(kFullWarp, sum.y, distance))};
    }
    if (segment == 0 && tile.in_rows > 0 && column < tile.columns) {
      *reinterpret_cast<float2*>(args.bias_partials + bias_row * args.input.columns +
                                 std::int64_t{tile.bx} * kSide + column) = sum;
    }
  }
  if (args.columnwise.codes == nullptr || !quantizes) return;

  float2 scale = {tile_scale, tile_scale};
  if constexpr (!kSquare) {
    float2 amax = {0.0F, 0.0F};
    if constexpr (kKeep) {
      std::uint32_t packed = 0;
#pragma unroll
      for (int i = 0; i < kSegmentRows; ++i)
        packed = packed_max<kType>(packed, kept[i] & kMagnitudes);
#pragma unroll
      for (int distance = kWarpPairs; distance < 32; distance *= 2) {
        packed = packed_max<kType>(packed, __shfl_xor_sync(kFullWarp, packed, distance));
      }
      amax = word_values<kType>(packed);
    } else {
#pragma unroll 8
      for (int i = 0; i < kSegmentRows; ++i) {
        const float2 values = values_at(i);
        amax = {fmaxf(amax.x, fabsf(values.x)), fmaxf(amax.y, fabsf(values.y))};
      }
#pragma unroll
      for (int distance = kWarpPairs; distance < 32; distance *= 2) {
        amax = {fmaxf(amax.x, __shfl_xor_sync(kFullWarp, amax.x, distance)),
                fmaxf(amax.y, __shfl_xor_sync(kFullWarp, amax.y, distance))};
      }
    }
    // Even segments make the scale of the left column, odd ones that of the right.
    const bool right = (segment & 1) != 0;
    const float my_amax = right ? amax.y : amax.x;
    const float my_scale = scale_from_amax(my_amax, parameters.rule);
    const float other = __shfl_xor_sync(kFullWarp, my_scale, kWarpPairs);
    scale = right ? float2{other, my_scale} : float2{my_scale, other};
    if (segment < 2 && column < tile.columns) {
      store_block_scale(args.columnwise, my_amax, my_scale,
                        tile.strip * args.input.columns + std::int64_t{tile.bx} * kSide + column +
                            (right ? 1 : 0));
    }
  }
  const int alignment = tile.out_m % 16 == 0 ? 16 : tile.out_m % 4 == 0 ? 4 : 1;
  const int out_piece = lane % 8;
  const int valid = tile.out_rows - 16 * out_piece;
  const int first_line = lane / 8;
  const int warp_column = column - 2 * pair;
  std::uint8_t* const target = args.columnwise.codes + tile.out_begin * args.input.columns +
                               std::int64_t{tile.strip_in_group} * kSide + 16 * out_piece;
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
      lines[pair][(segment * 2 + half) ^ pair] = {words[0], words[1], words[2], words[3]};
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kWarpPairs; i += 4) {
      const int line = first_line + i;
      const int line_column = warp_column + 2 * line + side;
      if (line_column < tile.columns && valid > 0) {
        store_piece(target + (std::int64_t{tile.bx} * kSide + line_column) * tile.out_m,
                    lines[line][out_piece ^ line], valid, alignment);
      }
    }
    __syncwarp();
  }
}

/// Two tiles' worth of shared memory hides one's loads behind the other's work. Activated elements
/// come through registers, and FP32 tiles are too big: those rely on several blocks an SM.
template <InputType kType, Activation kActivation>
constexpr int kStagesFor = kType == InputType::Fp32 || kActivation != Activation::None ? 1 : 2;
template <InputType kType, Activation kActivation>
constexpr int kResident = kType == InputType::Fp32 ? 2 : 3;

template <InputType kType, Fp8Format kFormat, bool kSquare, Activation kActivation, bool kStamped>
__global__
__launch_bounds__(kThreads, (kResident<kType, kActivation>)) void quantize_block_tile_kernel(
    const __grid_constant__ TileParameters parameters) {
  constexpr int kStages = kStagesFor<kType, kActivation>;
  extern __shared__ __align__(16) std::uint8_t dynamic_memory[];
  using Memory = TileMemory<kType, kStages>;
  auto& memory = *reinterpret_cast<Memory*>(dynamic_memory);
  const QuantizeBlockArgs& args = parameters.args;
  const GroupedInput& input = args.input;
  const int groups = input.num_groups;
  const bool quantizes = args.controls.noop == nullptr || *args.controls.noop != 1.0F;
  if (!quantizes && args.bias_partials == nullptr) return;

  const std::int64_t* out_offsets =
      args.output_rows.row_offsets != nullptr ? args.output_rows.row_offsets : input.row_offsets;
  auto* first_strip = reinterpret_cast<std::int32_t*>(dynamic_memory + sizeof(Memory));
  std::int32_t* scale_sums = first_strip + (groups + 1);
  std::int32_t* bias_strips = scale_sums + (groups + 1);
  // 1x128 rowwise scales are padded to 4 rows a group, 128x128 columnwise ones to 4 tiles.
  build_sum_tables<kThreads>({SumTable{out_offsets, kSide, first_strip},
                              SumTable{out_offsets, kSquare ? 4 * kSide : 4, scale_sums},
                              SumTable{input.row_offsets, kSide, bias_strips}},
                             args.bias_partials != nullptr ? 3 : 2, groups, memory.warp_totals);

  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  const int lane = thread & 31;
  const auto blocks_per_row = static_cast<int>(ceil_div(input.columns, kBlock));
  const bool columnwise = args.columnwise.codes != nullptr || args.bias_partials != nullptr;
  const bool rowwise = args.rowwise.codes != nullptr && quantizes;

  TileWalk walk(input, out_offsets, first_strip);
  if (walk.ended()) return;
  Tile tile = walk.tile();
  start_load<kType, kActivation>(input, tile, memory.raw[0]);
  commit_copies();
  for (int parity = 0;; parity ^= 1) {
    std::uint64_t begin_ns = 0;
    if constexpr (kStamped) begin_ns = global_time_ns();
    const auto& raw = memory.raw[kStages == 2 ? parity : 0];
    wait_copies<0>();
    // Behind it every thread has finished the tile before, so its memory may be filled again.
    __syncthreads();
    walk.advance();
    const bool last = walk.ended();
    Tile next;
    if (!last) {
      next = walk.tile();
      if constexpr (kStages == 2) {
        start_load<kType, kActivation>(input, next, memory.raw[parity ^ 1]);
        commit_copies();
      }
    }

    const int first_row = warp * (kSide / kWarps) + lane / kLanesPerRow;
    float tile_scale = 1.0F;
    if (kSquare || rowwise) {
      RawStep<kType> values[kPasses];
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
        values[pass] = shared_step<kType>(raw, first_row + 2 * pass, lane % kLanesPerRow);
      }
      if constexpr (kSquare) {
        float amax = 0.0F;
#pragma unroll
        for (int pass = 0; pass < kPasses; ++pass) {
          amax = fmaxf(amax, packed_step_amax(values[pass]));
        }
        const unsigned largest = __reduce_max_sync(kFullWarp, __float_as_uint(amax));
        if (lane == 0) memory.warp_amax[parity][warp] = __uint_as_float(largest);
        __syncthreads();
        amax = 0.0F;
#pragma unroll
        for (int w = 0; w < kWarps; ++w) amax = fmaxf(amax, memory.warp_amax[parity][w]);
        tile_scale = scale_from_amax(amax, parameters.rule);
        if (thread == 0 && quantizes) {
          if (args.rowwise.codes != nullptr) {
            store_block_scale(args.rowwise, amax, tile_scale,
                              std::int64_t{tile.strip} * ((blocks_per_row + 3) / 4 * 4) + tile.bx);
          }
          if (args.columnwise.codes != nullptr) {
            const std::int64_t padded = (tile.out_m + 4 * kSide - 1) / (4 * kSide) * 4;
            store_block_scale(args.columnwise, amax, tile_scale,
                              4 * std::int64_t{scale_sums[tile.group]} * blocks_per_row +
                                  tile.bx * padded + tile.strip_in_group);
          }
        }
      }
      if (rowwise) {
        quantize_rows<kType, kFormat, kSquare>(
            parameters, tile, values, 4 * std::int64_t{scale_sums[tile.group]} * blocks_per_row,
            tile_scale);
      }
    }
    if (columnwise) {
      const std::int64_t bias_row =
          args.bias_partials != nullptr ? bias_strips[tile.group] + tile.strip_in_group : 0;
      quantize_columns<kType, kFormat, kSquare>(parameters, tile, raw, memory.lines[warp], bias_row,
                                                quantizes, tile_scale);
    }
    if constexpr (kStamped) {
      const std::int64_t index = std::int64_t{tile.strip} * blocks_per_row + tile.bx;
      if (thread == 0 && index < args.controls.stamps.capacity) {
        args.controls.stamps.stamps[index] = {begin_ns, global_time_ns(), multiprocessor(),
                                              tile.group};
      }
    }
    if (last) break;
    if constexpr (kStages == 1) {
      __syncthreads();
      start_load<kType, kActivation>(input, next, memory.raw[0]);
      commit_copies();
    }
    tile = next;
  }
}

template <bool kSquare>
cudaError_t launch_tile(const QuantizeBlockArgs& args, cudaStream_t stream) {
  const GroupedInput& input = args.input;
  const bool padded = args.output_rows.row_offsets != nullptr;
  const std::int64_t capacity = padded ? args.output_rows.capacity_rows : input.capacity_rows;
  const std::int64_t strips = capacity / kBlock + input.num_groups;
  const std::int64_t tiles = strips * ceil_div(input.columns, kBlock);
  const TileParameters parameters{.args = args, .rule = block_scale_rule(args)};
  cudaError_t error = cudaSuccess;
  const auto launch =
      [&]<InputType kType, Fp8Format kFormat, Activation kActivation, bool kStamped>() {
        constexpr int kWaves = 4;  // tests/bench/gpu_quantize_bench
        const auto kernel =
            quantize_block_tile_kernel<kType, kFormat, kSquare, kActivation, kStamped>;
        const std::size_t bytes =
            sizeof(TileMemory<kType, kStagesFor<kType, kActivation>>) +
            static_cast<std::size_t>(kSumTables * (input.num_groups + 1)) * sizeof(std::int32_t);
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(bytes));
        if (error != cudaSuccess) return;
        kernel<<<resident_grid(kernel, tiles, 1, kWaves, bytes), kThreads, bytes, stream>>>(
            parameters);
        error = cudaGetLastError();
      };
  const bool stamped = args.controls.stamps.stamps != nullptr;
  const bool swiglu = input.activation == Activation::SwiGlu;
  if (stamped && (swiglu || input.type != InputType::Bf16)) return cudaErrorNotSupported;
  dispatch_cast(input.type, args.format, [&](auto type, auto format) {
    if (swiglu) {
      launch.template operator()<type(), format(), Activation::SwiGlu, false>();
    } else if constexpr (type() == InputType::Bf16) {
      if (stamped) {
        launch.template operator()<type(), format(), Activation::None, true>();
      } else {
        launch.template operator()<type(), format(), Activation::None, false>();
      }
    } else {
      launch.template operator()<type(), format(), Activation::None, false>();
    }
  });
  return error;
}

}  // namespace kernels::block_tile
