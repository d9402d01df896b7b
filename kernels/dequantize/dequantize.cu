// Dequantize on the device. Row-major codes are read and written four or eight at a time; each
// thread takes sixteen transposed ones down a column, so that a warp's stores are adjacent in a
// row.
#include "kernels/common/input_vectors.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/common/varying_sums.cuh"
#include "kernels/dequantize/code_units.cuh"
#include "kernels/dequantize/dequantize_varying.h"
#include "kernels/dequantize/tile_walk.cuh"

namespace kernels {
namespace {

/// Codes of a thread along a row: 16 bytes of output, so that a warp's stores are contiguous.
template <InputType kType>
constexpr int kUnit = kType == InputType::Fp32 ? 4 : 8;

constexpr int kDown = 16;  // codes per thread down a column

template <InputType kType>
__device__ __forceinline__ void store_unit(const float (&values)[kUnit<kType>], void* output,
                                           std::int64_t element) {
  uint4 unit;
  if constexpr (kType == InputType::Fp32) {
    unit = {__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
            __float_as_uint(values[3])};
    *reinterpret_cast<uint4*>(static_cast<float*>(output) + element) = unit;
  } else {
    std::uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = pack_pair<kType>(values[2 * i], values[2 * i + 1]);
    unit = {words[0], words[1], words[2], words[3]};
    *reinterpret_cast<uint4*>(static_cast<std::uint16_t*>(output) + element) = unit;
  }
}

/// The codes of a thread's share of a tile: read before the tile's factors are ready.
template <InputType kType, bool kTransposed>
class TileShare;

template <InputType kType>
class TileShare<kType, false> {
 public:
  __device__ __forceinline__ void load(const GroupView& group, const ViewTile& tile,
                                       std::int64_t columns) {
    if (column() >= tile.columns) return;
    const std::int64_t first = tile.row * columns + tile.column + column();
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      if (row(pass) < tile.rows) {
        codes_[pass] = load_row_unit<kCount>(group, first + row(pass) * columns);
      }
    }
  }

  __device__ __forceinline__ void store(const DequantizeArgs& args, const GroupView& group,
                                        const ViewTile& tile, const float* factors) const {
    if (column() >= tile.columns) return;
    const std::int64_t columns = args.quantized.columns;
    const std::int64_t first = (tile.first_row + tile.row) * columns + tile.column + column();
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      if (row(pass) >= tile.rows) break;
      const std::uint32_t words[2] = {codes_[pass].x, codes_[pass].y};
      float values[kCount];
      unit_values(words, group.e2m1(), args.quantized.format, values);
      const float* scale = factors + tile_scale_index(group, row(pass), column());
      if (group.column_shift == 0) {  // one factor per column: four of them at a time
#pragma unroll
        for (int i = 0; i < kCount; i += 4) {
          const float4 four = *reinterpret_cast<const float4*>(scale + i);
          values[i] = __fmul_rn(values[i], four.x);
          values[i + 1] = __fmul_rn(values[i + 1], four.y);
          values[i + 2] = __fmul_rn(values[i + 2], four.z);
          values[i + 3] = __fmul_rn(values[i + 3], four.w);
        }
      } else {
        const float factor = *scale;
#pragma unroll
        for (int i = 0; i < kCount; ++i) values[i] = __fmul_rn(values[i], factor);
      }
      store_unit<kType>(values, args.output, first + row(pass) * columns);
    }
  }

 private:
  static constexpr int kCount = kUnit<kType>;
  static constexpr int kUnitsPerRow = kViewTile / kCount;
  static constexpr int kRowsPerPass = kViewThreads / kUnitsPerRow;
  static constexpr int kPasses = kViewTile / kRowsPerPass;
  __device__ static int column() { return static_cast<int>(threadIdx.x) % kUnitsPerRow * kCount; }
  __device__ static int row(int pass) {
    return static_cast<int>(threadIdx.x) / kUnitsPerRow + pass * kRowsPerPass;
  }

  uint2 codes_[kPasses];
};

template <InputType kType>
class TileShare<kType, true> {
 public:
  __device__ __forceinline__ void load(const GroupView& group, const ViewTile& tile,
                                       std::int64_t columns) {
    if (column() >= tile.columns) return;
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      if (row(pass) < tile.rows) {
        codes_[pass] =
            load_column_unit(group, columns, tile.row + row(pass), tile.column + column());
      }
    }
  }

  __device__ __forceinline__ void store(const DequantizeArgs& args, const GroupView& group,
                                        const ViewTile& tile, const float* factors) const {
    if (column() >= tile.columns) return;
    const std::int64_t columns = args.quantized.columns;
    const std::int64_t first = (tile.first_row + tile.row) * columns + tile.column + column();
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      if (row(pass) >= tile.rows) break;
      const std::uint32_t words[4] = {codes_[pass].x, codes_[pass].y, codes_[pass].z,
                                      codes_[pass].w};
      float values[kDown];
      unit_values(words, group.e2m1(), args.quantized.format, values);
      const float factor = factors[tile_scale_index(group, row(pass), column())];
#pragma unroll
      for (int i = 0; i < kDown; ++i) values[i] = __fmul_rn(values[i], factor);
      if (args.quantized.hadamard) undo_hadamard_16(values);
#pragma unroll
      for (int i = 0; i < kDown; ++i) {
        if (row(pass) + i < tile.rows) {
          store_element<kType>(values[i], args.output, first + (row(pass) + i) * columns);
        }
      }
    }
  }

 private:
  static constexpr int kPasses = kViewTile * kViewTile / kDown / kViewThreads;
  __device__ static int column() { return static_cast<int>(threadIdx.x) % kViewTile; }
  __device__ static int row(int pass) {
    return (static_cast<int>(threadIdx.x) / kViewTile * kPasses + pass) * kDown;
  }

  uint4 codes_[kPasses];
};

template <InputType kType, bool kTransposed>
__global__ __launch_bounds__(kViewThreads) void dequantize_kernel(
    const __grid_constant__ DequantizeArgs args) {
  wait_for_predecessor();
  __shared__ ViewTables tables;
  __shared__ alignas(16) float factors[2][kTileScales];
  const std::int64_t* offsets =
      args.row_offsets != nullptr ? args.row_offsets : args.quantized.row_offsets;
  TileShare<kType, kTransposed> share;
  for_each_view_tile(
      args.quantized, offsets, tables,
      [&](const ViewTile& tile, const GroupView& group, int turn) {
        share.load(group, tile, args.quantized.columns);
        load_tile_scales(group, tile, factors[turn],
                         [&](std::int64_t index) { return factor_at(group, index); });
      },
      [&](const ViewTile& tile, const GroupView& group, int turn) {
        share.store(args, group, tile, factors[turn]);
      });
}

/// The tiles of groups that differ in columns: each group as an operand of its own.
template <InputType kType, bool kTransposed>
__global__ __launch_bounds__(kViewThreads) void dequantize_varying_kernel(
    const __grid_constant__ DequantizeVaryingArgs args) {
  wait_for_predecessor();
  __shared__ std::int32_t first_tile[kMaxGroups + 1];
  __shared__ alignas(16) float factors[2][kTileScales];
  const QuantizedView& view = args.whole.quantized;
  const auto across_of = [](std::int64_t columns) { return (columns + kViewTile - 1) / kViewTile; };
  if (threadIdx.x < 32) {
    warp_sum_groups(first_tile, view.num_groups, [&](int group) {
      const std::int64_t rows = view.row_offsets[group + 1] - view.row_offsets[group];
      return static_cast<std::int32_t>(across_of(rows) * across_of(args.groups.columns[group]));
    });
  }
  __syncthreads();
  const std::int64_t tiles = first_tile[view.num_groups];
  std::int64_t t = tiles * blockIdx.x / gridDim.x;
  const std::int64_t end = tiles * (blockIdx.x + 1) / gridDim.x;
  int turn = 0;
  TileShare<kType, kTransposed> share;
  while (t < end) {
    const int g = warp_find_group(first_tile, view.num_groups, t);
    const GroupPlace place = place_of_group(view.row_offsets, args.groups, args.places, g);
    const DequantizeArgs own = group_arguments(args, place);
    const GroupView group = group_view(own.quantized, 0, place.rows, 0, 0);
    const std::int64_t across = across_of(place.columns);
    const std::int64_t group_end = min(end, std::int64_t{first_tile[g + 1]});
    for (; t < group_end; ++t, turn ^= 1) {
      const std::int64_t local = t - first_tile[g];
      ViewTile tile;
      tile.row = local / across * kViewTile;
      tile.column = local % across * kViewTile;
      tile.rows = static_cast<int>(min(std::int64_t{kViewTile}, place.rows - tile.row));
      tile.columns = static_cast<int>(min(std::int64_t{kViewTile}, place.columns - tile.column));
      share.load(group, tile, place.columns);
      load_tile_scales(group, tile, factors[turn],
                       [&](std::int64_t index) { return factor_at(group, index); });
      __syncthreads();
      share.store(own, group, tile, factors[turn]);
    }
  }
}

cudaError_t check_view(const QuantizedView& view, const void* output) {
  if (view.num_groups < 0 || view.num_groups > kMaxGroups || view.columns <= 0 ||
      view.columns % 16 != 0) {
    return cudaErrorInvalidValue;
  }
  const auto misaligned = [](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0;
  };
  if (misaligned(view.codes) || misaligned(output)) return cudaErrorMisalignedAddress;
  return cudaSuccess;
}

/// Whether lines of codes are columns.
bool is_transposed(const QuantizedView& view) {
  return view.direction == Direction::Columnwise && !is_mxfp8(view.layout);
}

}  // namespace

cudaError_t dequantize_varying(const DequantizeVaryingArgs& args, LaunchStream stream) {
  QuantizedView view = args.whole.quantized;
  view.columns = 16;  // the groups' own are multiples of it
  if (args.whole.row_offsets != nullptr || args.groups.columns == nullptr ||
      args.groups.elements == nullptr || args.groups.capacity_elements / 16 > INT32_MAX) {
    return cudaErrorInvalidValue;
  }
  if (const cudaError_t bad = check_view(view, args.whole.output); bad != cudaSuccess) return bad;
  if (view.num_groups == 0 || args.groups.capacity_elements == 0) return cudaSuccess;
  for (const void* array :
       {static_cast<const void*>(view.codes), view.scales,
        static_cast<const void*>(view.row_offsets), static_cast<const void*>(args.whole.output)}) {
    if (array == nullptr) return cudaErrorInvalidValue;
  }
  const bool transposed = is_transposed(view);
  cudaError_t error = cudaSuccess;
  dispatch_input(args.whole.output_type, [&](auto type) {
    const auto kernel = transposed ? dequantize_varying_kernel<type(), true>
                                   : dequantize_varying_kernel<type(), false>;
    const unsigned grid = resident_grid(kernel, args.groups.capacity_elements / 16, 1);
    error = launch_dependent(kernel, {.grid = grid, .threads = kViewThreads}, stream, args);
  });
  return error;
}

cudaError_t dequantize(const DequantizeArgs& args, LaunchStream stream) {
  const QuantizedView& view = args.quantized;
  if (const cudaError_t bad = check_view(view, args.output); bad != cudaSuccess) return bad;
  if (view.num_groups == 0 || view.capacity_rows == 0) return cudaSuccess;
  const std::int64_t tiles = (ceil_div(view.capacity_rows, kViewTile) + view.num_groups) *
                             ceil_div(view.columns, kViewTile);
  const bool transposed = is_transposed(view);
  cudaError_t error = cudaSuccess;
  dispatch_input(args.output_type, [&](auto type) {
    const auto kernel =
        transposed ? dequantize_kernel<type(), true> : dequantize_kernel<type(), false>;
    error = launch_dependent(
        kernel, {.grid = resident_grid(kernel, tiles, 1), .threads = kViewThreads}, stream, args);
  });
  return error;
}

}  // namespace kernels
