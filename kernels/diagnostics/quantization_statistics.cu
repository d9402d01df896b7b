// Effects of quantization on an operand, on the device. Tiles of 128 x 128 as in dequantize: a
// thread takes eight codes of a row and the elements they came from. Histograms in shared memory,
// FP64 sums in registers until the group ends.
#include "kernels/common/input_vectors.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/dequantize/code_units.cuh"
#include "kernels/dequantize/tile_walk.cuh"
#include "kernels/diagnostics/code_error.h"
#include "kernels/diagnostics/group_walk.cuh"
#include "kernels/diagnostics/magnitude_slots.cuh"

namespace kernels {
namespace {

static_assert(kViewThreads == kWalkThreads);
constexpr int kUnitsPerRow = kViewTile / kStep;
constexpr int kRowsPerPass = kViewThreads / kUnitsPerRow;

/// One thread's sums over its elements of one group.
struct ThreadSums {
  double signal = 0.0;
  double noise = 0.0;
  unsigned long long saturated = 0;
  unsigned long long underflowed = 0;
  unsigned long long elements = 0;
  unsigned long long lost = 0;
  unsigned long long undefined = 0;
  float max_ulp = 0.0F;
};

/// Adds a group's sums; all threads call.
__device__ void leave_group(ThreadSums& mine, GroupQuantizationSums* sums) {
  const double signal = block_sum(mine.signal);
  const double noise = block_sum(mine.noise);
  const unsigned long long saturated = block_sum(mine.saturated);
  const unsigned long long underflowed = block_sum(mine.underflowed);
  const unsigned long long elements = block_sum(mine.elements);
  const unsigned long long lost = block_sum(mine.lost);
  const unsigned long long undefined = block_sum(mine.undefined);
  if (threadIdx.x == 0) {
    atomicAdd(&sums->signal, signal);
    atomicAdd(&sums->noise, noise);
    atomicAdd(reinterpret_cast<unsigned long long*>(&sums->saturated), saturated);
    atomicAdd(reinterpret_cast<unsigned long long*>(&sums->underflowed), underflowed);
    atomicAdd(reinterpret_cast<unsigned long long*>(&sums->elements), elements);
    atomicAdd(reinterpret_cast<unsigned long long*>(&sums->lost), lost);
    atomicAdd(reinterpret_cast<unsigned long long*>(&sums->undefined), undefined);
  }
  raise_to_warp_max(sums->max_ulp, mine.max_ulp);
  mine = {};
}

/// Losses of eight elements or of a block: saturated, underflowed << 16.
using PackedLosses = std::uint32_t;

/// The elements of a unit share a scale: a block is a multiple of a unit.
__device__ void add_block_losses(PackedLosses packed, BlockLosses& block) {
  if ((packed & 0xFFFFU) != 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&block.saturated), packed & 0xFFFFU);
  }
  if (packed >> 16 != 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&block.underflowed), packed >> 16);
  }
}

/// `elements`: a bit for each of a unit's.
__device__ void add_saturated(const QuantizationStatisticsArgs& args, unsigned elements,
                              std::int64_t row, std::int64_t column) {
  atomicAdd(&args.rows[row].saturated, static_cast<unsigned>(__popc(elements)));
  for (; elements != 0; elements &= elements - 1) {
    atomicAdd(&args.columns[column + __ffs(static_cast<int>(elements)) - 1].saturated, 1U);
  }
}

template <InputType kType, bool kQuantized>
__global__ __launch_bounds__(kViewThreads) void quantization_statistics_kernel(
    const __grid_constant__ QuantizationStatisticsArgs args) {
  __shared__ ViewTables tables;
  __shared__ alignas(16) float factors[2][kTileScales];
  __shared__ MagnitudeSlots before;
  __shared__ MagnitudeSlots after;
  clear_slots(before);
  clear_slots(after);
  const QuantizedView& view = args.quantized;
  const CodeGridBits grid = code_grid_bits(view);
  const int column = static_cast<int>(threadIdx.x) % kUnitsPerRow * kStep;
  ThreadSums mine;
  int present = -1;

  const auto measure_unit = [&](const ViewTile& tile, const GroupView& group, int row,
                                const float* scales) -> PackedLosses {
    const std::int64_t element = (tile.row + row) * view.columns + tile.column + column;
    const RawStep<kType> raw =
        load_step<kType>(args.input.input, (tile.first_row * view.columns + element) / kStep);
    float originals[kStep];
    step_values(raw, originals);
    float values[kStep];  // of the codes
    float factor = 1.0F;
    SaturationRule saturation;
    if constexpr (kQuantized) {
      const uint2 codes = load_row_unit<kStep>(group, element);
      const std::uint32_t words[2] = {codes.x, codes.y};
      unit_values(words, group.e2m1(), view.format, values);
      factor = scales[tile_scale_index(group, row, column)];
      saturation = saturation_rule(view, factor);
    }
    PackedLosses losses = 0;
    unsigned saturated = 0;  // a bit for each element
#pragma unroll
    for (int i = 0; i < kStep; ++i) {
      const float original = originals[i];
      const double exact = original;
      count_magnitude(before, original);
      if constexpr (kQuantized) {
        const float decoded = __fmul_rn(values[i], factor);
        count_magnitude(after, decoded);
        if (is_saturated(original, saturation)) {
          ++losses;
          saturated |= 1U << i;
        }
        if (isfinite(original) && !isfinite(decoded)) ++mine.lost;
        if (!isfinite(original)) ++mine.undefined;
        if (!isfinite(original) || !isfinite(decoded)) continue;
        if (original != 0.0F && decoded == 0.0F) losses += 0x10000U;
        const double error = exact - static_cast<double>(decoded);
        mine.noise += error * error;
        mine.max_ulp = fmaxf(mine.max_ulp, code_ulps(static_cast<float>(fabs(error)),
                                                     __float_as_uint(values[i]), factor, grid));
      }
      if constexpr (!kQuantized) {
        if (!isfinite(original)) {
          ++mine.undefined;
          continue;
        }
      }
      mine.signal += exact * exact;
      ++mine.elements;
    }
    mine.saturated += losses & 0xFFFFU;
    mine.underflowed += losses >> 16;
    if (saturated != 0 && args.columns != nullptr) {
      add_saturated(args, saturated, tile.first_row + tile.row + row, tile.column + column);
    }
    return losses;
  };
  // All lanes call: those of a block of 16 or 32 combine its losses.
  const auto store_losses = [&](const ViewTile& tile, const GroupView& group, int row, bool inside,
                                PackedLosses losses) {
    const auto scale = [&] {
      return scale_index(view, group, tile.row + row, tile.column + column);
    };
    if (args.losses != nullptr && losses != 0) add_block_losses(losses, args.losses[scale()]);
    if (args.micro_losses == nullptr) return;
    const int lanes = is_nvfp4(view.layout) ? 2 : 4;
    losses += __shfl_xor_sync(kFullWarp, losses, 1);
    if (lanes == 4) losses += __shfl_xor_sync(kFullWarp, losses, 2);
    if (inside && column / kStep % lanes == 0) {
      args.micro_losses[scale()] = {static_cast<std::uint8_t>(losses),
                                    static_cast<std::uint8_t>(losses >> 16)};
    }
  };
  for_each_view_tile(
      view, args.input.row_offsets, tables,
      [&](const ViewTile& tile, const GroupView& group, int turn) {
        if constexpr (kQuantized) {
          load_tile_scales(group, tile, factors[turn],
                           [&](std::int64_t index) { return factor_at(group, index); });
        }
      },
      [&](const ViewTile& tile, const GroupView& group, int turn) {
        if (tile.group != present) {
          if (present >= 0) leave_group(mine, args.sums + present);
          present = tile.group;
        }
        for (int row = static_cast<int>(threadIdx.x) / kUnitsPerRow; row < kViewTile;
             row += kRowsPerPass) {
          const bool inside = row < tile.rows && column < tile.columns;
          const PackedLosses losses = inside ? measure_unit(tile, group, row, factors[turn]) : 0;
          if constexpr (kQuantized) store_losses(tile, group, row, inside, losses);
        }
      });
  if (present >= 0) leave_group(mine, args.sums + present);
  __syncthreads();
  add_slots(before, args.before);
  add_slots(kQuantized ? after : before, args.after);
}

/// Refuses what QuantizationStatisticsArgs does not allow.
bool is_measurable(const QuantizationStatisticsArgs& args) {
  const QuantizedView& view = args.quantized;
  const bool micro = has_micro_scales(view.layout);
  return view.direction == Direction::Rowwise && !view.hadamard &&
         args.input.activation.is_none() && (micro || args.micro_losses == nullptr) &&
         (!micro || args.losses == nullptr) &&
         check_operands(args.input, view.codes) == cudaSuccess;
}

}  // namespace

cudaError_t quantization_statistics(const QuantizationStatisticsArgs& args, cudaStream_t stream) {
  if (!is_measurable(args)) return cudaErrorInvalidValue;
  const GroupedInput& input = args.input;
  if (input.num_groups == 0 || input.capacity_rows == 0) return cudaSuccess;
  const std::int64_t tiles = (ceil_div(input.capacity_rows, kViewTile) + input.num_groups) *
                             ceil_div(input.columns, kViewTile);
  cudaError_t error = cudaErrorInvalidValue;
  dispatch_input(input.type, [&](auto type) {
    const auto launch = [&](auto kernel, const QuantizationStatisticsArgs& of) {
      error = launch_plain(
          kernel, {.grid = resident_grid(kernel, tiles, 1), .threads = kViewThreads}, stream, of);
    };
    if (args.quantized.codes != nullptr) {
      launch(quantization_statistics_kernel<type(), true>, args);
      return;
    }
    // Only the walk reads this view.
    QuantizationStatisticsArgs plain = args;
    plain.quantized = {.row_offsets = input.row_offsets,
                       .num_groups = input.num_groups,
                       .capacity_rows = input.capacity_rows,
                       .columns = input.columns};
    launch(quantization_statistics_kernel<type(), false>, plain);
  });
  return error;
}

}  // namespace kernels
