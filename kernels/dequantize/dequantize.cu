// Dequantize on the device. Codes that lie in rows are read and written eight at a time; transposed
// ones sixteen down a column by each thread, so that a warp's stores are neighbours in a row.
#include "kernels/common/input_vectors.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/dequantize/code_units.cuh"
#include "kernels/dequantize/dequantize.h"
#include "kernels/dequantize/tile_walk.cuh"

namespace kernels {
namespace {

constexpr int kUnitsPerRow = kViewTile / kStep;
constexpr int kPasses = kViewTile * kViewTile / kStep / kViewThreads;
constexpr int kDown = 16;  // codes of a thread down a column
constexpr int kColumnPasses = kViewTile * kViewTile / kDown / kViewThreads;

template <InputType kType>
__device__ __forceinline__ void store_element(float value, void* output, std::int64_t element) {
  using Type = typename DeviceElement<kType>::Type;
  Type* target = static_cast<Type*>(output) + element;
  if constexpr (kType == InputType::Bf16) {
    *target = __float2bfloat16_rn(value);
  } else if constexpr (kType == InputType::Fp16) {
    *target = __float2half_rn(value);
  } else {
    *target = value;
  }
}

template <InputType kType>
__device__ __forceinline__ void store_step(const float (&values)[kStep], void* output,
                                           std::int64_t element) {
  if constexpr (kType == InputType::Fp32) {
    float4* target = reinterpret_cast<float4*>(static_cast<float*>(output) + element);
    target[0] = {values[0], values[1], values[2], values[3]};
    target[1] = {values[4], values[5], values[6], values[7]};
  } else {
    std::uint32_t words[kStep / 2];
#pragma unroll
    for (int i = 0; i < kStep / 2; ++i) {
      if constexpr (kType == InputType::Bf16) {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
        words[i] = *reinterpret_cast<const std::uint32_t*>(&pair);
      } else {
        const __half2 pair = __floats2half2_rn(values[2 * i], values[2 * i + 1]);
        words[i] = *reinterpret_cast<const std::uint32_t*>(&pair);
      }
    }
    uint4* target = reinterpret_cast<uint4*>(static_cast<std::uint16_t*>(output) + element);
    *target = {words[0], words[1], words[2], words[3]};
  }
}

template <InputType kType>
__device__ __forceinline__ void decode_rows(const DequantizeArgs& args, const ViewTile& tile,
                                            const GroupView& group, const ViewTables& tables) {
  const int column = static_cast<int>(threadIdx.x) % kUnitsPerRow * kStep;
  const int first_row = static_cast<int>(threadIdx.x) / kUnitsPerRow;
  constexpr int kRowsPerPass = kViewThreads / kUnitsPerRow;
  const std::int64_t columns = args.quantized.columns;
  if (column >= tile.columns) return;
  uint2 codes[kPasses];
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    const int row = first_row + pass * kRowsPerPass;
    if (row < tile.rows) {
      codes[pass] = load_row_unit(group, (tile.row + row) * columns + tile.column + column);
    }
  }
#pragma unroll
  for (int pass = 0; pass < kPasses; ++pass) {
    const int row = first_row + pass * kRowsPerPass;
    if (row >= tile.rows) break;
    const std::uint32_t words[2] = {codes[pass].x, codes[pass].y};
    float values[kStep];
    unit_values(words, group.e2m1(), args.quantized.format, values);
    if (group.column_shift == 0) {
#pragma unroll
      for (int i = 0; i < kStep; ++i) {
        values[i] = __fmul_rn(values[i], tile_factor(tables, group, row, column + i));
      }
    } else {
      const float factor = tile_factor(tables, group, row, column);
#pragma unroll
      for (int i = 0; i < kStep; ++i) values[i] = __fmul_rn(values[i], factor);
    }
    store_step<kType>(values, args.output,
                      (tile.first_row + tile.row + row) * columns + tile.column + column);
  }
}

template <InputType kType>
__device__ __forceinline__ void decode_columns(const DequantizeArgs& args, const ViewTile& tile,
                                               const GroupView& group, const ViewTables& tables) {
  const int column = static_cast<int>(threadIdx.x) % kViewTile;
  const int first_row = static_cast<int>(threadIdx.x) / kViewTile * kColumnPasses * kDown;
  const std::int64_t columns = args.quantized.columns;
  if (column >= tile.columns) return;
  uint4 codes[kColumnPasses];
#pragma unroll
  for (int pass = 0; pass < kColumnPasses; ++pass) {
    const int row = first_row + pass * kDown;
    if (row < tile.rows) {
      codes[pass] = load_column_unit(group, columns, tile.row + row, tile.column + column);
    }
  }
#pragma unroll
  for (int pass = 0; pass < kColumnPasses; ++pass) {
    const int row = first_row + pass * kDown;
    if (row >= tile.rows) break;
    const std::uint32_t words[4] = {codes[pass].x, codes[pass].y, codes[pass].z, codes[pass].w};
    float values[kDown];
    unit_values(words, group.e2m1(), args.quantized.format, values);
    const float factor = tile_factor(tables, group, row, column);
#pragma unroll
    for (int i = 0; i < kDown; ++i) values[i] = __fmul_rn(values[i], factor);
    if (args.quantized.hadamard) undo_hadamard_16(values);
    const std::int64_t first = (tile.first_row + tile.row + row) * columns + tile.column + column;
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
      if (row + i < tile.rows) store_element<kType>(values[i], args.output, first + i * columns);
    }
  }
}

template <InputType kType, bool kTransposed>
__global__ __launch_bounds__(kViewThreads) void dequantize_kernel(
    const __grid_constant__ DequantizeArgs args) {
  __shared__ ViewTables tables;
  const std::int64_t* offsets =
      args.row_offsets != nullptr ? args.row_offsets : args.quantized.row_offsets;
  for_each_view_tile(args.quantized, offsets, tables,
                     [&](const ViewTile& tile, const GroupView& group, const ViewTables& ready) {
                       if constexpr (kTransposed) {
                         decode_columns<kType>(args, tile, group, ready);
                       } else {
                         decode_rows<kType>(args, tile, group, ready);
                       }
                     });
}

}  // namespace

cudaError_t dequantize(const DequantizeArgs& args, cudaStream_t stream) {
  const QuantizedView& view = args.quantized;
  if (view.num_groups < 0 || view.num_groups > kMaxGroups || view.columns <= 0 ||
      view.columns % 16 != 0) {
    return cudaErrorInvalidValue;
  }
  const auto misaligned = [](const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0;
  };
  if (misaligned(view.codes) || misaligned(args.output)) return cudaErrorMisalignedAddress;
  if (view.num_groups == 0 || view.capacity_rows == 0) return cudaSuccess;
  const std::int64_t tiles = (ceil_div(view.capacity_rows, kViewTile) + view.num_groups) *
                             ceil_div(view.columns, kViewTile);
  const bool transposed = view.direction == Direction::Columnwise && !is_mxfp8(view.layout);
  dispatch_input(args.output_type, [&](auto type) {
    const auto kernel =
        transposed ? dequantize_kernel<type(), true> : dequantize_kernel<type(), false>;
    kernel<<<resident_grid(kernel, tiles, 1), kViewThreads, 0, stream>>>(args);
  });
  return cudaGetLastError();
}

}  // namespace kernels
