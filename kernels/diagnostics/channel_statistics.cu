// A warp takes a tile of columns in a strip of rows: a lane has eight columns and goes down the
// rows, so that the sums of columns stay in registers and those of a row are one exchange between
// lanes. Sums of strips and tiles go through scratch memory and are added up in their order by a
// second launch. Graph-safe: rows are read from the offsets.
#include "kernels/common/input_vectors.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/diagnostics/channel_statistics.h"
#include "kernels/diagnostics/group_walk.cuh"

namespace kernels {
namespace {

constexpr unsigned kAllLanes = 0xFFFFFFFFU;
constexpr int kWarpsPerBlock = kThreads / 32;
static_assert(kChannelTile == 32 * kStep && kErrorBlock == 2 * kStep);

struct Scratch {
  double2* strips;  // [slots, columns]: signal and noise
  double2* tiles;   // [tiles, capacity_rows]
};

__device__ Scratch scratch_of(const ChannelStatisticsArgs& args) {
  auto* const strips = static_cast<double2*>(args.scratch);
  return {strips, strips + first_channel_slot(args.input.capacity_rows, args.input.num_groups) *
                               args.input.columns};
}

__device__ std::int64_t slots_of(const GroupedInput& input) {
  return first_channel_slot(input.row_offsets[input.num_groups], input.num_groups);
}

/// The group whose slots `slot` is among: the last one that begins at or before it.
__device__ int group_of_slot(const GroupedInput& input, std::int64_t slot) {
  int low = 0;
  int high = input.num_groups;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (first_channel_slot(input.row_offsets[middle], middle) <= slot) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

__device__ void add_channel(ChannelSums& sums, unsigned rank, unsigned place, unsigned counts) {
  const std::uint64_t packed = LargestElement::packed(rank, place);
  // Most tiles of a channel have nothing above what is there already.
  if (packed > sums.largest) {
    atomicMax(reinterpret_cast<unsigned long long*>(&sums.largest), packed);
  }
  if (counts == 0) return;
  if ((counts & kCountMask) != 0) atomicAdd(&sums.underflowed, counts & kCountMask);
  if ((counts >> kCountBits & kCountMask) != 0) {
    atomicAdd(&sums.lost, counts >> kCountBits & kCountMask);
  }
  if (counts >> (2 * kCountBits) != 0) atomicAdd(&sums.undefined, counts >> (2 * kCountBits));
}

/// A lane's eight columns.
struct LaneColumns {
  double signal[kStep] = {};
  double noise[kStep] = {};
  unsigned rank[kStep] = {};
  unsigned row[kStep] = {};  // in the operand
  unsigned counts[kStep] = {};
};

struct LaneRow {
  double signal[kStep];
  double noise[kStep];
  unsigned rank = 0;   // the largest
  unsigned place = 0;  // the first one of this rank, among the eight
  unsigned counts = 0;
};

/// In pairs of neighbours.
__device__ double add_up(const double (&values)[kStep]) {
  return ((values[0] + values[1]) + (values[2] + values[3])) +
         ((values[4] + values[5]) + (values[6] + values[7]));
}

__device__ void add_element(float x, float decoded, unsigned row, int i, LaneColumns& columns,
                            LaneRow& part) {
  const unsigned x_bits = __float_as_uint(x) & 0x7FFFFFFFU;
  const unsigned y_bits = __float_as_uint(decoded) & 0x7FFFFFFFU;
  const float error = __fsub_rn(x, decoded);
  const bool x_finite = x_bits < 0x7F800000U;
  const bool counts = (__float_as_uint(error) & 0x7FFFFFFFU) < 0x7F800000U;
  // Squares of FP32 values are exact in FP64: a fused multiply-add changes nothing.
  const double value = counts ? x : 0.0F;
  const double difference = counts ? error : 0.0F;
  part.signal[i] = value * value;
  part.noise[i] = difference * difference;
  columns.signal[i] += part.signal[i];
  columns.noise[i] += part.noise[i];
  const unsigned rank = x_finite ? x_bits + 1U : 0U;
  if (rank > columns.rank[i]) {
    columns.rank[i] = rank;
    columns.row[i] = row;
  }
  if (rank > part.rank) {
    part.rank = rank;
    part.place = static_cast<unsigned>(i);
  }
  const unsigned packed = (x_finite && x_bits != 0 && y_bits == 0 ? 1U : 0U) +
                          (x_finite && y_bits >= 0x7F800000U ? 1U << kCountBits : 0U) +
                          (x_finite ? 0U : 1U << (2 * kCountBits));
  columns.counts[i] += packed;
  part.counts += packed;
}

/// All lanes call.
__device__ void store_row(const ChannelStatisticsArgs& args, const LaneRow& part, std::int64_t row,
                          std::int64_t tile, double2* sums) {
  const unsigned lane = threadIdx.x % 32;
  double signal = add_up(part.signal);
  double noise = add_up(part.noise);
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    signal += __shfl_xor_sync(kAllLanes, signal, distance);
    noise += __shfl_xor_sync(kAllLanes, noise, distance);
    if (distance == 1 && lane % 2 == 0) {
      const BlockErrorSums block{.signal = signal, .noise = noise};
      if (const int bin = block.bin(); bin >= 0) {
        atomicAdd(reinterpret_cast<unsigned long long*>(args.block_counts) + bin, 1ULL);
      }
    }
  }
  const unsigned counts = __reduce_add_sync(kAllLanes, part.counts);
  const unsigned rank = __reduce_max_sync(kAllLanes, part.rank);
  const unsigned first = __ffs(static_cast<int>(__ballot_sync(kAllLanes, part.rank == rank))) - 1;
  const unsigned place = __shfl_sync(kAllLanes, part.place, static_cast<int>(first));
  if (lane != 0) return;
  sums[row] = {signal, noise};
  add_channel(args.rows[row], rank,
              static_cast<unsigned>(tile * kChannelTile) + first * kStep + place, counts);
}

template <InputType kType>
__global__ __launch_bounds__(kThreads) void channel_tile_kernel(
    const __grid_constant__ ChannelStatisticsArgs args) {
  const GroupedInput& input = args.input;
  const Scratch scratch = scratch_of(args);
  const std::int64_t tiles = ceil_div(input.columns, kChannelTile);
  const std::int64_t tasks = slots_of(input) * tiles;
  const std::int64_t stride = std::int64_t{gridDim.x} * kWarpsPerBlock;
  for (std::int64_t task = std::int64_t{blockIdx.x} * kWarpsPerBlock + threadIdx.x / 32;
       task < tasks; task += stride) {
    const std::int64_t slot = task / tiles;
    const std::int64_t tile = task % tiles;
    const std::int64_t column = tile * kChannelTile + threadIdx.x % 32 * kStep;
    const bool inside = column < input.columns;
    const int group = group_of_slot(input, slot);
    const std::int64_t group_end = input.row_offsets[group + 1];
    const std::int64_t first =
        input.row_offsets[group] +
        (slot - first_channel_slot(input.row_offsets[group], group)) * kChannelStripRows;
    const std::int64_t end = min(first + kChannelStripRows, group_end);
    LaneColumns columns;
    for (std::int64_t row = first; row < end; ++row) {
      LaneRow part = {};
      if (inside) {
        const std::int64_t step = (row * input.columns + column) / kStep;
        float values[kStep];
        float decoded[kStep];
        step_values(load_step<kType>(input.input, step), values);
        if (args.decoded == nullptr) {
#pragma unroll
          for (int i = 0; i < kStep; ++i) decoded[i] = values[i];
        } else {
          step_values(load_step<InputType::Fp32>(args.decoded, step), decoded);
        }
#pragma unroll
        for (int i = 0; i < kStep; ++i) {
          add_element(values[i], decoded[i], static_cast<unsigned>(args.first_row + row), i,
                      columns, part);
        }
      }
      store_row(args, part, row, tile, scratch.tiles + tile * input.capacity_rows);
    }
    if (!inside) continue;
    // Slots without rows have sums of 0.
    double2* const sums = scratch.strips + slot * input.columns + column;
#pragma unroll
    for (int i = 0; i < kStep; ++i) {
      sums[i] = {columns.signal[i], columns.noise[i]};
      add_channel(args.columns[column + i], columns.rank[i], columns.row[i], columns.counts[i]);
    }
  }
}

/// Columns first, then rows: each thread adds up one channel.
__global__ __launch_bounds__(kThreads) void channel_sum_kernel(
    const __grid_constant__ ChannelStatisticsArgs args) {
  const GroupedInput& input = args.input;
  const Scratch scratch = scratch_of(args);
  const std::int64_t rows = input.row_offsets[input.num_groups];
  const std::int64_t slots = slots_of(input);
  const std::int64_t tiles = ceil_div(input.columns, kChannelTile);
  const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t channel = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
       channel < input.columns + rows; channel += stride) {
    const bool is_column = channel < input.columns;
    ChannelSums& sums = is_column ? args.columns[channel] : args.rows[channel - input.columns];
    const double2* part =
        is_column ? scratch.strips + channel : scratch.tiles + (channel - input.columns);
    const std::int64_t pitch = is_column ? input.columns : input.capacity_rows;
    double signal = sums.signal;
    double noise = sums.noise;
    for (std::int64_t i = 0; i < (is_column ? slots : tiles); ++i, part += pitch) {
      signal += part->x;
      noise += part->y;
    }
    sums.signal = signal;
    sums.noise = noise;
  }
}

template <InputType kType>
cudaError_t launch(const ChannelStatisticsArgs& args, cudaStream_t stream) {
  const GroupedInput& input = args.input;
  const std::int64_t tasks = first_channel_slot(input.capacity_rows, input.num_groups) *
                             ceil_div(input.columns, kChannelTile);
  const unsigned tile_grid = resident_grid(channel_tile_kernel<kType>, tasks, kWarpsPerBlock, 4);
  const cudaError_t error = launch_plain(channel_tile_kernel<kType>,
                                         {.grid = tile_grid, .threads = kThreads}, stream, args);
  if (error != cudaSuccess) return error;
  const unsigned sum_grid =
      resident_grid(channel_sum_kernel, input.columns + input.capacity_rows, kThreads);
  return launch_plain(channel_sum_kernel, {.grid = sum_grid, .threads = kThreads}, stream, args);
}

}  // namespace

cudaError_t channel_statistics(const ChannelStatisticsArgs& args, cudaStream_t stream) {
  const GroupedInput& input = args.input;
  if (input.columns % kErrorBlock != 0 || input.capacity_rows > 0xFFFFFFFFLL) {
    return cudaErrorInvalidValue;
  }
  if (args.columns == nullptr || args.rows == nullptr || args.scratch == nullptr) {
    return cudaErrorInvalidValue;
  }
  if (!is_aligned(input.input, 16) || !is_aligned(args.decoded, 16) ||
      !is_aligned(args.scratch, 16)) {
    return cudaErrorMisalignedAddress;
  }
  if (input.num_groups == 0 || input.capacity_rows == 0) return cudaSuccess;
  cudaError_t error = cudaErrorInvalidValue;
  dispatch_input(input.type, [&](auto type) { error = launch<type()>(args, stream); });
  return error;
}

}  // namespace kernels
