// Tiles of 128 x 128 as in dequantize: a thread takes eight codes of a row and the elements they
// came from; the two or four lanes of a block combine its losses.
#include "kernels/diagnostics/micro_statistics.h"

#include "kernels/common/launch.cuh"
#include "kernels/dequantize/code_units.cuh"
#include "kernels/dequantize/tile_walk.cuh"
#include "kernels/diagnostics/code_error.h"
#include "kernels/diagnostics/group_walk.cuh"
#include "kernels/diagnostics/magnitude_slots.cuh"

namespace kernels {
namespace {

static_assert(kViewThreads == kWalkThreads);
constexpr int kUnit = kWalkVector;
constexpr int kUnitsPerRow = kViewTile / kUnit;
constexpr int kRowsPerPass = kViewThreads / kUnitsPerRow;

/// One thread's sums over its elements of one group.
struct ThreadSums {
  double signal = 0.0;
  double noise = 0.0;
  unsigned long long saturated = 0;
  unsigned long long underflowed = 0;
  float max_ulp = 0.0F;
};

/// Adds a group's sums; all threads call.
__device__ void leave_group(ThreadSums& mine, GroupQuantizationSums* sums) {
  const double signal = block_sum(mine.signal);
  const double noise = block_sum(mine.noise);
  const unsigned long long saturated = block_sum(mine.saturated);
  const unsigned long long underflowed = block_sum(mine.underflowed);
  if (threadIdx.x == 0) {
    atomicAdd(&sums->signal, signal);
    atomicAdd(&sums->noise, noise);
    atomicAdd(reinterpret_cast<unsigned long long*>(&sums->saturated), saturated);
    atomicAdd(reinterpret_cast<unsigned long long*>(&sums->underflowed), underflowed);
  }
  raise_to_warp_max(sums->max_ulp, mine.max_ulp);
  mine = {};
}

template <InputType kType>
__global__ __launch_bounds__(kViewThreads) void micro_statistics_kernel(
    const __grid_constant__ MicroStatisticsArgs args) {
  __shared__ ViewTables tables;
  __shared__ alignas(16) float factors[2][kTileScales];
  __shared__ MagnitudeSlots before;
  __shared__ MagnitudeSlots after;
  clear_slots(before);
  clear_slots(after);
  const QuantizedView& view = args.quantized;
  const double limit = micro_saturation_limit(view);
  const CodeGridBits grid = is_nvfp4(view.layout) ? kE2m1GridBits : code_grid_bits(view.format);
  const int column = static_cast<int>(threadIdx.x) % kUnitsPerRow * kUnit;
  const int lanes = is_nvfp4(view.layout) ? 2 : 4;  // of a block
  ThreadSums mine;
  int present = -1;

  const auto measure_unit = [&](const ViewTile& tile, const GroupView& group, int row,
                                float factor) {
    const std::int64_t element = (tile.row + row) * view.columns + tile.column + column;
    const uint2 codes = load_row_unit<kUnit>(group, element);
    const std::uint32_t words[2] = {codes.x, codes.y};
    float values[kUnit];
    unit_values(words, group.e2m1(), view.format, values);
    const FloatVector x =
        load_floats<kType>(args.input.input, tile.first_row * view.columns + element);
    std::uint32_t losses = 0;  // saturated, underflowed << 16
#pragma unroll
    for (int i = 0; i < kUnit; ++i) {
      const float original = x.value[i];
      const float decoded = __fmul_rn(values[i], factor);
      count_magnitude(before, original);
      count_magnitude(after, decoded);
      if (micro_saturated(original, factor, limit)) ++losses;
      if (!isfinite(original) || !isfinite(decoded)) continue;
      if (original != 0.0F && decoded == 0.0F) losses += 0x10000U;
      const double exact = original;
      const double error = exact - static_cast<double>(decoded);
      mine.signal += exact * exact;
      mine.noise += error * error;
      mine.max_ulp = fmaxf(mine.max_ulp, code_ulps(static_cast<float>(fabs(error)),
                                                   __float_as_uint(values[i]), factor, grid));
    }
    mine.saturated += losses & 0xFFFFU;
    mine.underflowed += losses >> 16;
    return losses;
  };
  for_each_view_tile(
      view, args.input.row_offsets, tables,
      [&](const ViewTile& tile, const GroupView& group, int turn) {
        load_tile_scales(group, tile, factors[turn],
                         [&](std::int64_t index) { return factor_at(group, index); });
      },
      [&](const ViewTile& tile, const GroupView& group, int turn) {
        if (tile.group != present) {
          if (present >= 0) leave_group(mine, args.sums + present);
          present = tile.group;
        }
        for (int row = static_cast<int>(threadIdx.x) / kUnitsPerRow; row < kViewTile;
             row += kRowsPerPass) {
          const bool inside = row < tile.rows && column < tile.columns;
          std::uint32_t losses = 0;
          if (inside) {
            losses =
                measure_unit(tile, group, row, factors[turn][tile_scale_index(group, row, column)]);
          }
          losses += __shfl_xor_sync(kFullWarp, losses, 1);
          if (lanes == 4) losses += __shfl_xor_sync(kFullWarp, losses, 2);
          if (inside && args.losses != nullptr && column / kUnit % lanes == 0) {
            const std::int64_t first = static_cast<const std::uint8_t*>(group.scales) -
                                       static_cast<const std::uint8_t*>(view.scales);
            args.losses[first + group.scale_index(tile.row + row, tile.column + column)] = {
                static_cast<std::uint8_t>(losses), static_cast<std::uint8_t>(losses >> 16)};
          }
        }
      });
  if (present >= 0) leave_group(mine, args.sums + present);
  __syncthreads();
  add_slots(before, args.before);
  add_slots(after, args.after);
}

}  // namespace

cudaError_t micro_statistics(const MicroStatisticsArgs& args, cudaStream_t stream) {
  const QuantizedView& view = args.quantized;
  const bool micro = is_mxfp8(view.layout) || is_nvfp4(view.layout);
  if (!micro || view.direction != Direction::Rowwise || view.hadamard ||
      args.input.activation != Activation::None || view.num_groups < 0 ||
      view.num_groups > kMaxGroups || view.columns <= 0 || view.columns % 16 != 0 ||
      reinterpret_cast<std::uintptr_t>(args.input.input) % 16 != 0 ||
      reinterpret_cast<std::uintptr_t>(view.codes) % 16 != 0) {
    return cudaErrorInvalidValue;
  }
  if (view.num_groups == 0 || view.capacity_rows == 0) return cudaSuccess;
  const std::int64_t tiles = (ceil_div(view.capacity_rows, kViewTile) + view.num_groups) *
                             ceil_div(view.columns, kViewTile);
  dispatch_input(args.input.type, [&](auto type) {
    const auto kernel = micro_statistics_kernel<type()>;
    kernel<<<resident_grid(kernel, tiles, 1), kViewThreads, 0, stream>>>(args);
  });
  return cudaGetLastError();
}

}  // namespace kernels
