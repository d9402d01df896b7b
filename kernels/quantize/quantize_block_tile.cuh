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

/// Blocks of threads that an SM shall hold: what hides one tile's loads behind another's work.
template <InputType kType>
constexpr int kResident = kType == InputType::Fp32 ? 2 : 4;

template <InputType kType, Fp8Format kFormat, bool kSquare, Activation kActivation, bool kStamped>
__global__ __launch_bounds__(kThreads, kResident<kType>) void quantize_block_tile_kernel(
    const __grid_constant__ TileParameters parameters) {
  extern __shared__ __align__(16) std::uint8_t dynamic_memory[];
  auto& memory = *reinterpret_cast<TileMemory<kType>*>(dynamic_memory);
  const QuantizeBlockArgs& args = parameters.args;
  const GroupedInput& input = args.input;
  const int groups = input.num_groups;
  const bool quantizes = args.controls.noop == nullptr || *args.controls.noop != 1.0F;
  if (!quantizes && args.bias_partials == nullptr) return;

  const std::int64_t* out_offsets =
      args.output_rows.row_offsets != nullptr ? args.output_rows.row_offsets : input.row_offsets;
  auto* tables = reinterpret_cast<std::int32_t*>(dynamic_memory + sizeof(TileMemory<kType>));
  const std::int32_t* first_strip = tables;
  const std::int32_t* scale_sums = tables + (groups + 1);
  const std::int32_t* bias_strips = tables + 2 * (groups + 1);
  // 1x128 rowwise scales are padded to 4 rows a group, 128x128 columnwise ones to 4 tiles.
  build_sum_tables<kThreads>({SumTable{out_offsets, kSide, tables},
                              SumTable{out_offsets, kSquare ? 4 * kSide : 4, tables + (groups + 1)},
                              SumTable{input.row_offsets, kSide, tables + 2 * (groups + 1)}},
                             args.bias_partials != nullptr ? 3 : 2, groups, memory.warp_totals);

  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  const int lane = thread & 31;
  const std::int64_t columns = input.columns;
  const auto blocks_per_row = static_cast<int>(ceil_div(columns, kBlock));
  const std::int64_t strips = first_strip[groups];
  const int step_in_tile = thread % kLanesPerRow;
  // Rowwise: this thread's rows are first_row + 2 * pass.
  const int first_row = warp * (kSide / kWarps) + lane / kLanesPerRow;
  const int pair = (warp & 1) * 32 + lane;
  const int segment = warp / 2;

  std::int64_t strip = blockIdx.x / static_cast<unsigned>(blocks_per_row);
  int bx = static_cast<int>(blockIdx.x % static_cast<unsigned>(blocks_per_row));
  const std::int64_t strip_stride = gridDim.x / static_cast<unsigned>(blocks_per_row);
  const int bx_stride = static_cast<int>(gridDim.x % static_cast<unsigned>(blocks_per_row));
  int group = 0;
  int parity = 0;
  while (strip < strips) {
    std::uint64_t begin_ns = 0;
    if constexpr (kStamped) begin_ns = global_time_ns();
    if (strip >= first_strip[group + 1]) group = warp_find_group(first_strip, groups, strip);
    const int strip_in_group = static_cast<int>(strip) - first_strip[group];
    const std::int64_t row_in_group = std::int64_t{strip_in_group} * kSide;
    const std::int64_t in_first = input.row_offsets[group] + row_in_group;
    const std::int64_t in_left = input.row_offsets[group + 1] - in_first;
    const std::int64_t out_begin = out_offsets[group];
    const std::int64_t out_m = out_offsets[group + 1] - out_begin;
    const int in_rows = static_cast<int>(max(std::int64_t{0}, min(kBlock, in_left)));
    const int out_rows = static_cast<int>(min(kBlock, out_m - row_in_group));
    const std::int64_t first_column = std::int64_t{bx} * kSide;
    const int tile_columns = static_cast<int>(min(kBlock, columns - first_column));
    const bool step_inside = step_in_tile * kStep < tile_columns;

    RawStep<kType> raw[kPasses];
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const int row = first_row + 2 * pass;
      raw[pass] = row < in_rows && step_inside
                      ? load_activated_step<kType, kActivation>(input, in_first + row,
                                                                bx * kLanesPerRow + step_in_tile)
                      : zero_step<kType>();
    }
    float tile_scale = 1.0F;
    float row_scale = 1.0F;  // 1x128: of row lane / 2 (of the sixteen lanes) of this thread's rows
    if constexpr (kSquare) {
      float amax = 0.0F;
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) amax = fmaxf(amax, packed_step_amax(raw[pass]));
      const unsigned largest = __reduce_max_sync(kFullWarp, __float_as_uint(amax));
      // Two sets: a warp may be at the next tile while another still reads this one's.
      if (lane == 0) memory.warp_amax[parity][warp] = __uint_as_float(largest);
    } else if (args.rowwise.codes != nullptr) {
      float amax[kPasses];
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) amax[pass] = packed_step_amax(raw[pass]);
      const float row_amax = scatter_row_amax(amax);
      row_scale = scale_from_amax(row_amax, parameters.rule);
      const int row = first_row + (lane % kLanesPerRow) / 2 * 2;
      if (quantizes && lane % 2 == 0 && row < out_rows) {
        const std::int64_t padded = (out_m + 3) / 4 * 4;
        store_block_scale(args.rowwise, row_amax, row_scale,
                          4 * std::int64_t{scale_sums[group]} * blocks_per_row + bx * padded +
                              row_in_group + row);
      }
    }
    const bool columnwise = args.columnwise.codes != nullptr || args.bias_partials != nullptr;
    if (columnwise) {
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
        auto* target = reinterpret_cast<uint4*>(&memory.raw[first_row + 2 * pass][0]);
        constexpr int kVectors = RawStep<kType>::kWords / 4;
#pragma unroll
        for (int i = 0; i < kVectors; ++i) {
          target[step_in_tile * kVectors + i] = {raw[pass].words[4 * i], raw[pass].words[4 * i + 1],
                                                 raw[pass].words[4 * i + 2],
                                                 raw[pass].words[4 * i + 3]};
        }
      }
    }
    if constexpr (kSquare) {
      __syncthreads();
      float amax = 0.0F;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) amax = fmaxf(amax, memory.warp_amax[parity][w]);
      tile_scale = scale_from_amax(amax, parameters.rule);
      parity ^= 1;
      if (thread == 0 && quantizes) {
        if (args.rowwise.codes != nullptr) {
          store_block_scale(args.rowwise, amax, tile_scale,
                            strip * ((blocks_per_row + 3) / 4 * 4) + bx);
        }
        if (args.columnwise.codes != nullptr) {
          const std::int64_t padded = (out_m + 4 * kSide - 1) / (4 * kSide) * 4;
          store_block_scale(
              args.columnwise, amax, tile_scale,
              4 * std::int64_t{scale_sums[group]} * blocks_per_row + bx * padded + strip_in_group);
        }
      }
    }
    if (args.rowwise.codes != nullptr && quantizes) {
#pragma unroll
      for (int pass = 0; pass < kPasses; ++pass) {
        const int row = first_row + 2 * pass;
        float scale = tile_scale;
        if constexpr (!kSquare) {
          scale = __shfl_sync(kFullWarp, row_scale, (lane & kLanesPerRow) + 2 * pass);
        }
        if (row < out_rows && step_inside) {
          store_codes<kType, kFormat>(
              raw[pass], scale, args.rowwise.codes,
              ((out_begin + row_in_group + row) * columns + first_column) / kStep + step_in_tile);
        }
      }
    }
    if (columnwise) {
      if constexpr (!kSquare) __syncthreads();
      constexpr bool kKeep = kType != InputType::Fp32;
      RawPair<kType> kept[kKeep ? kSegmentRows : 1];
      const auto pair_at = [&](int i) { return memory.raw[segment * kSegmentRows + i][pair]; };
      if constexpr (kKeep) {
#pragma unroll
        for (int i = 0; i < kSegmentRows; ++i) kept[i] = pair_at(i);
      }
      const auto values_at = [&](int i) {
        if constexpr (kKeep) {
          return pair_values<kType>(kept[i]);
        } else {
          return pair_values<kType>(pair_at(i));
        }
      };
      if constexpr (!kSquare) {
        float2 amax = {0.0F, 0.0F};
        if constexpr (kKeep) {
          std::uint32_t packed = 0;
#pragma unroll
          for (int i = 0; i < kSegmentRows; ++i) {
            packed = packed_max<kType>(packed, kept[i] & 0x7FFF7FFFU);
          }
          amax = pair_values<kType>(packed);
        } else {
#pragma unroll 8
          for (int i = 0; i < kSegmentRows; ++i) {
            const float2 values = values_at(i);
            amax = {fmaxf(amax.x, fabsf(values.x)), fmaxf(amax.y, fabsf(values.y))};
          }
        }
        memory.amax[segment][pair] = amax;
      }
      if (args.bias_partials != nullptr) {
        float2 sums[2] = {};
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#pragma unroll 16
          for (int i = 0; i < 16; ++i) {
            const float2 values = values_at(half * 16 + i);
            sums[half] = {__fadd_rn(sums[half].x, values.x), __fadd_rn(sums[half].y, values.y)};
          }
        }
        memory.bias[segment][pair] = {__fadd_rn(sums[0].x, sums[1].x),
                                      __fadd_rn(sums[0].y, sums[1].y)};
      }
      float2 scale = {tile_scale, tile_scale};
      if (!kSquare || args.bias_partials != nullptr) __syncthreads();
      if constexpr (!kSquare) {
        float2 amax = memory.amax[0][pair];
#pragma unroll
        for (int s = 1; s < kSegments; ++s) {
          const float2 other = memory.amax[s][pair];
          amax = {fmaxf(amax.x, other.x), fmaxf(amax.y, other.y)};
        }
        scale = {scale_from_amax(amax.x, parameters.rule),
                 scale_from_amax(amax.y, parameters.rule)};
        if (segment == 0 && 2 * pair < tile_columns && args.columnwise.codes != nullptr &&
            quantizes) {
          const std::int64_t index = strip * columns + first_column + 2 * pair;
          store_block_scale(args.columnwise, amax.x, scale.x, index);
          store_block_scale(args.columnwise, amax.y, scale.y, index + 1);
        }
      }
      if (args.bias_partials != nullptr && segment == kSegments - 1 && in_rows > 0 &&
          2 * pair < tile_columns) {
        const float2* bias = &memory.bias[0][pair];
        const float2 total = {__fadd_rn(__fadd_rn(bias[0].x, bias[kPairs].x),
                                        __fadd_rn(bias[2 * kPairs].x, bias[3 * kPairs].x)),
                              __fadd_rn(__fadd_rn(bias[0].y, bias[kPairs].y),
                                        __fadd_rn(bias[2 * kPairs].y, bias[3 * kPairs].y))};
        const std::int64_t row = bias_strips[group] + strip_in_group;
        *reinterpret_cast<float2*>(args.bias_partials + row * columns + first_column + 2 * pair) =
            total;
      }
      if (args.columnwise.codes != nullptr && quantizes) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          std::uint32_t words[2][4];
#pragma unroll
          for (int word = 0; word < 4; ++word) {
            const int i = half * 16 + word * 4;
            const float2 a = values_at(i);
            const float2 b = values_at(i + 1);
            const float2 c = values_at(i + 2);
            const float2 d = values_at(i + 3);
            words[0][word] = column_word<kFormat>(a.x, b.x, c.x, d.x, scale.x);
            words[1][word] = column_word<kFormat>(a.y, b.y, c.y, d.y, scale.y);
          }
          const int piece = (segment * 2 + half) ^ (pair & 7);
#pragma unroll
          for (int side = 0; side < 2; ++side) {
            memory.transposed[2 * pair + side][piece] = {words[side][0], words[side][1],
                                                         words[side][2], words[side][3]};
          }
        }
        __syncthreads();
        const int alignment = out_m % 16 == 0 ? 16 : out_m % 4 == 0 ? 4 : 1;
        const int piece = thread % 8;
        const int valid = out_rows - 16 * piece;
        std::uint8_t* target = args.columnwise.codes + out_begin * columns + row_in_group +
                               16 * piece + (first_column + thread / 8) * out_m;
#pragma unroll
        for (int i = 0; i < kSide / (kThreads / 8); ++i) {
          const int column = thread / 8 + i * (kThreads / 8);
          if (column < tile_columns && valid > 0) {
            store_piece(target + i * (kThreads / 8) * out_m,
                        memory.transposed[column][piece ^ ((column / 2) & 7)], valid, alignment);
          }
        }
      } else {
        // The next tile's elements replace the ones that other threads may still be reading.
        __syncthreads();
      }
    }
    if constexpr (kStamped) {
      const std::int64_t tile = strip * blocks_per_row + bx;
      if (thread == 0 && tile < args.controls.stamps.capacity) {
        args.controls.stamps.stamps[tile] = {begin_ns, global_time_ns(), multiprocessor(), group};
      }
    }
    strip += strip_stride;
    bx += bx_stride;
    if (bx >= blocks_per_row) {
      bx -= blocks_per_row;
      ++strip;
    }
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
        constexpr int kWaves = 8;  // tests/bench/gpu_quantize_bench
        const auto kernel =
            quantize_block_tile_kernel<kType, kFormat, kSquare, kActivation, kStamped>;
        const std::size_t bytes =
            sizeof(TileMemory<kType>) +
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
